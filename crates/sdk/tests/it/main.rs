//! Operators on the embedded API server: alone, and with the controller that delegates to them.

mod flows;
mod operators;
