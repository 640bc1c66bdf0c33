-- Whether a person said that a task changes no files, so that no commits are expected of it.
ALTER TABLE tasks ADD COLUMN changes TEXT;
