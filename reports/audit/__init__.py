"""The audit of a log: nobody has to believe a run, it can be checked."""
