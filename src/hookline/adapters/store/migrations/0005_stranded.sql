-- Tasks that wait for nothing any more: there are some only while nobody makes them ready.
CREATE INDEX tasks_stranded ON tasks (number) WHERE state = 'created' AND unmet = 0;
