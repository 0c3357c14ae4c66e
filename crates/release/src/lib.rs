//! How does a rendered chart become objects of a cluster, and go again? Stored as Helm stores it.
