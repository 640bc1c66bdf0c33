"""The files of `hookline demo`, copied into its temporary repository; Hookline imports none."""
