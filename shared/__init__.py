"""What the services share; each module has one idea."""

#: The version of Assay: of the distribution, the API document and every worker.
VERSION = "0.1.0"
