//! JSON against what Go prints and reports.
