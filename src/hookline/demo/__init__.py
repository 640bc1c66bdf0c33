"""The files that `hookline demo` copies into its temporary repository; none is imported."""
