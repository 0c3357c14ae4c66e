//! Formats against what Go prints.
