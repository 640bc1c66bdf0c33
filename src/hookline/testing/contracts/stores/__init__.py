"""What every store does."""

from hookline.testing.contracts.stores.calls import CallTests
from hookline.testing.contracts.stores.clones import CloneTests
from hookline.testing.contracts.stores.details import DetailTests
from hookline.testing.contracts.stores.exports import ExportTests
from hookline.testing.contracts.stores.hosts import HostTests
from hookline.testing.contracts.stores.log import LogTests
from hookline.testing.contracts.stores.notices import NoticeTests
from hookline.testing.contracts.stores.runs import RunTests
from hookline.testing.contracts.stores.tasks import TaskTests


class StoreContract(
    LogTests,
    TaskTests,
    CallTests,
    RunTests,
    NoticeTests,
    DetailTests,
    HostTests,
    CloneTests,
    ExportTests,
):
    """A store: `open_store(folder, clock)` opens a connection to the one in a folder.

    class TestMine(StoreContract):
        def open_store(self, folder, clock):
            return MyStore(folder / "store", clock=clock)
    """
