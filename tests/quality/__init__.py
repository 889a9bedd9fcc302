"""What holds the claims of the package: evidence of tests, ablation, and the page made from both."""
