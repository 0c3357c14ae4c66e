//! Examples of plans, and a random simulation that is compared with a plain model.

mod examples;
mod simulation;
