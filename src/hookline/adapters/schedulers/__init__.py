"""Schedulers: who advances runs when. One file per scheduler, all behind the port `Scheduler`."""
