"""The vendors of models: one module and one row of the table each."""
