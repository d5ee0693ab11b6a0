"""What a check of a repository may refuse: versions out of support, contradictions, loose pins, secrets."""
