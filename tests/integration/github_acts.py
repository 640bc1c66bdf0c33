"""What the stand-in for GitHub does: one function for each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.integration.github_stand_in import GitHub

OWNER, NAME = "acme", "widgets"
MERGE_SHA = "c" * 40
# The account whose token Hookline has.
OURSELVES = "hookline"


class Reply(NamedTuple):
    """What is answered."""

    status: int
    value: Any
    headers: Mapping[str, str] = {}


def error(status: int, message: str, **more: Any) -> Reply:
    """An error as GitHub words it."""
    page = "https://docs.github.com/rest"
    return Reply(status, {"message": message, "documentation_url": page, **more})


def _list(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    head, base, state = query.get("head"), query.get("base"), query.get("state", "open")
    simple = hub.description.example("pull-request-simple-items")[0]
    found = [
        {name: pull.get(name, value) for name, value in simple.items()}
        for pull in hub.pulls.values()
        if (state == "all" or pull["state"] == state)
        and head in (None, pull["head"]["label"])
        and base in (None, pull["base"]["ref"])
    ]
    return _page(found, query)


def _open(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    head, base = body["head"], body["base"]
    label = f"{OWNER}:{head}"
    for pull in hub.pulls.values():
        if (pull["head"]["label"], pull["base"]["ref"], pull["state"]) == (label, base, "open"):
            return _invalid(f"A pull request already exists for {label}.")
    if head == "nothing-new":
        return _invalid(f"No commits between {base} and {head}")
    return Reply(201, hub.add_pull(head, base, body["title"], body.get("body")))


def _invalid(message: str) -> Reply:
    detail = {"resource": "PullRequest", "code": "custom", "message": message}
    return error(422, "Validation Failed", errors=[detail])


def _get(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    pull = hub.pulls.get(int(values["pull_number"]))
    return error(404, "Not Found") if pull is None else Reply(200, pull)


def _update(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    found = _get(hub, values, query, body)
    if found.status == 200:
        found.value.update(body)
    return found


def _merge(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    pull = hub.pulls[int(values["pull_number"])]
    if pull["state"] == "closed" or pull["mergeable"] is not True:
        return error(405, "Pull Request is not mergeable")
    if body["sha"] != pull["head"]["sha"]:
        return error(409, "Head branch was modified. Review and try the merge again.")
    if (why := hub.lacks(pull, body["merge_method"])) is not None:
        return error(405, why)
    pull |= {"state": "closed", "merged": True, "merged_at": "2026-01-17T10:00:00Z"}
    pull["merge_commit_sha"] = MERGE_SHA
    hub.merges.append(pull["number"])
    return Reply(200, {"sha": MERGE_SHA, "merged": True, "message": "Pull Request merged"})


def _files(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("diff-entry-items")[0]
    patches = hub.patches_of(hub.pulls[int(values["pull_number"])])
    found = [{**example, "filename": name, "patch": text} for name, text in patches.items()]
    return _page(found, query)


def _review(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    pull, remarks = hub.pulls[int(values["pull_number"])], body.get("comments", [])
    head = body.get("commit_id", pull["head"]["sha"])
    patches = hub.patches_of(pull)
    for each in remarks:
        if each["path"] not in patches or head != pull["head"]["sha"]:
            return error(422, "Unprocessable Entity", errors=["Path could not be resolved"])
        if each["line"] not in _new_lines(patches[each["path"]]) or each["side"] != "RIGHT":
            return error(422, "Unprocessable Entity", errors=["Line could not be resolved"])
    if hub.refuses_lines and remarks:
        return error(422, "Unprocessable Entity", errors=["Line could not be resolved"])
    given = [(each["path"], each["line"], each["body"]) for each in remarks]
    state = {"COMMENT": "COMMENTED", "APPROVE": "APPROVED"}[body["event"]]
    hub.review(OURSELVES, state, head, body=body["body"], remarks=given)
    return Reply(200, {**hub.description.example("pull-request-review"), **hub.reviews[-1]})


def _new_lines(patch: str) -> set[int]:
    """The lines of the new file that a patch shows, counted one by one."""
    found: set[int] = set()
    number = 0
    for line in patch.split("\n"):
        if line.startswith("@@"):
            number = int(line.split("+")[1].split()[0].split(",")[0])
        elif line.startswith((" ", "+")):
            found.add(number)
            number += 1
    return found


def _statuses(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    if not hub.knows(values["ref"]):
        return error(422, f"No commit found for SHA: {values['ref']}")
    combined = hub.description.example("combined-commit-status")
    example = combined["statuses"][0]
    found = [
        {
            **example,
            "context": name,
            "state": state,
            "description": f"the build ended with {state}",
            "target_url": f"https://ci.test/{name}",
        }
        for name, state in hub.statuses
    ]
    page = _page(found, query)
    combined |= {"statuses": page.value, "total_count": len(found), "sha": values["ref"]}
    return Reply(200, combined, page.headers)


def _runs(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("check-run-paginated")["check_runs"][0]
    if not hub.knows(values["ref"]):
        return error(422, f"No commit found for SHA: {values['ref']}")
    found: list[dict[str, Any]] = []
    for name, status, conclusion in hub.runs_of(values["ref"]):
        page: dict[str, Any] = {"html_url": f"https://github.test/runs/{name}", "name": name}
        page |= {"output": {**example["output"], **hub.output}, "id": len(found) + 1}
        page["app"] = {**example["app"], "slug": hub.app}
        found.append({**example, **page, "status": status, "conclusion": conclusion})
    listed = _page(found, query)
    return Reply(200, {"total_count": len(found), "check_runs": listed.value}, listed.headers)


def _suites(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("check-suite-paginated")["check_suites"][0]
    found = [
        {
            **example,
            "app": {**example["app"], "slug": suite.app},
            "status": suite.status,
            "conclusion": suite.conclusion,
            "latest_check_runs_count": suite.runs,
        }
        for suite in hub.suites_of(values["ref"])
    ]
    listed = _page(found, query)
    return Reply(200, {"total_count": len(found), "check_suites": listed.value}, listed.headers)


def _annotations(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("check-annotation-items")[0]
    return _page([{**example, **each} for each in hub.annotations], query)


def _reviews(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("pull-request-review-items")[0]
    return _page([{**example, **review} for review in hub.reviews], query)


def _remarks_of(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    example = hub.description.example("review-comment-items")[0]
    found = [
        {**example, "path": path, "line": line, "body": text}
        for path, line, text in hub.remarks[int(values["review_id"])]
    ]
    return _page(found, query)


def _repository(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    found = hub.description.example("full-repository-default-response")
    rules = hub.rules
    found |= {"archived": rules.archived, "full_name": f"{OWNER}/{NAME}", "language": None}
    found["source"]["language"] = None  # which the example lacks and its schema requires
    found["permissions"] = {"pull": True, "push": rules.may_push, "admin": rules.is_admin}
    names = {"merge": "merge_commit", "squash": "squash_merge", "rebase": "rebase_merge"}
    found |= {f"allow_{name}": method not in rules.forbidden for method, name in names.items()}
    return Reply(200, found)


def _branch(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    if values["branch"] != hub.rules.base:
        return error(404, "Branch not found")
    found = hub.description.example("branch-get")
    level = "non_admins" if hub.rules.checks else "off"
    required = {"enforcement_level": level, "contexts": hub.rules.checks, "checks": []}
    found |= {"name": hub.rules.base, "protected": hub.rules.is_protected}
    found["protection"] = {
        "enabled": hub.rules.is_protected,
        "required_status_checks": required,
    }
    return Reply(200, found)


def _protection(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    if not hub.rules.is_admin:
        return error(403, "Resource not accessible by personal access token")
    found = hub.description.example("branch-protection")
    return Reply(200, {**found, "required_linear_history": {"enabled": hub.rules.linear}})


def _branch_rules(hub: GitHub, values: dict[str, str], query: dict[str, str], body: Any) -> Reply:
    given = hub.rules
    found: list[dict[str, Any]] = []
    if given.queue:
        found.append({"type": "merge_queue"})
    if given.linear:
        found.append({"type": "required_linear_history"})
    if given.approvals or given.threads:
        wanted = {
            "dismiss_stale_reviews_on_push": False,
            "require_code_owner_review": False,
            "require_last_push_approval": False,
            "required_approving_review_count": given.approvals,
            "required_review_thread_resolution": given.threads,
        }
        found.append({"type": "pull_request", "parameters": wanted})
    for name in given.ruleset_checks:
        required = {
            "required_status_checks": [{"context": name}],
            "strict_required_status_checks_policy": False,
        }
        found.append({"type": "required_status_checks", "parameters": required})
    source = {
        "ruleset_source_type": "Repository",
        "ruleset_source": f"{OWNER}/{NAME}",
        "ruleset_id": 1,
    }
    return _page([{**rule, **source} for rule in found], query)


def _page(items: list[Any], query: dict[str, str]) -> Reply:
    size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
    more = len(items) > page * size
    link = {"link": f'<https://elsewhere.test/?page={page + 1}>; rel="next"'} if more else {}
    return Reply(200, items[(page - 1) * size : page * size], link)


ACTS = {
    ("GET", "/pulls"): _list,
    ("POST", "/pulls"): _open,
    ("GET", "/pulls/{pull_number}"): _get,
    ("PATCH", "/pulls/{pull_number}"): _update,
    ("PUT", "/pulls/{pull_number}/merge"): _merge,
    ("GET", "/pulls/{pull_number}/reviews"): _reviews,
    ("GET", "/pulls/{pull_number}/reviews/{review_id}/comments"): _remarks_of,
    ("GET", ""): _repository,
    ("GET", "/branches/{branch}"): _branch,
    ("GET", "/branches/{branch}/protection"): _protection,
    ("GET", "/rules/branches/{branch}"): _branch_rules,
    ("GET", "/pulls/{pull_number}/files"): _files,
    ("POST", "/pulls/{pull_number}/reviews"): _review,
    ("GET", "/commits/{ref}/status"): _statuses,
    ("GET", "/commits/{ref}/check-runs"): _runs,
    ("GET", "/commits/{ref}/check-suites"): _suites,
    ("GET", "/check-runs/{check_run_id}/annotations"): _annotations,
}
