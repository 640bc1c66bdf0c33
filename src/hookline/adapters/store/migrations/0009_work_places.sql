-- Where the work on a task is, on a store that several machines share; perishable.
CREATE TABLE work_places (
    task INTEGER PRIMARY KEY,
    place TEXT NOT NULL
);
