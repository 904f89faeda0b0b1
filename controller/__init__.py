"""The controller process: will hold everything that touches a live deployment; this version observes only."""
