"""Regret, exactly: what a learner paid, and what others would have paid on the same costs from the same start."""
