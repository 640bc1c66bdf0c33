"""How work goes: tables over the log, charts by week, and advice where a rule of thumb applies."""
