//! The `outrigger` command.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Returns memory to the operating system after a burst of clients, which glibc's allocator does not.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    outrigger::run(std::env::args_os())
}
