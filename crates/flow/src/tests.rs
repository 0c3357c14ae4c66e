//! Examples of plans, and a random simulation that is compared with a plain model.

mod edited_records;
mod examples;
mod simulation;
