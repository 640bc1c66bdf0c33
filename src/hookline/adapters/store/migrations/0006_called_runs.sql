-- The run that an effect called, and whose end is its result; folds from the log.
ALTER TABLE effects ADD COLUMN called INTEGER;
CREATE INDEX effects_by_called ON effects (called) WHERE called IS NOT NULL;
CREATE INDEX effects_calling ON effects (run) WHERE called IS NOT NULL;
