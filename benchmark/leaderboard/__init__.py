"""Who is better: one row for each model and harness over the suite, from audited logs alone."""
