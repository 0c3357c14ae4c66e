//! Logging to stderr: warnings by default, more with each `--verbose`, as text or JSON.

mod command;
mod json;
mod printable_fields;

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// What is logged, and how.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Settings {
    pub(crate) verbose: u8,
    pub(crate) format: LogFormat,
    /// Whether the command logs what it does without `--verbose`.
    pub(crate) is_service: bool,
    /// Whether the command prints the failures of plugins itself.
    pub(crate) prints_failures: bool,
}

pub(crate) fn start(settings: Settings) {
    let filter = filter(settings);
    let layer = tracing_subscriber::fmt::layer()
        .fmt_fields(printable_fields::PrintableFields)
        .with_target(settings.verbose > 1)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_writer(std::io::stderr);
    match settings.format {
        LogFormat::Text if settings.verbose == 0 && !settings.is_service => {
            tracing_subscriber::registry()
                .with(layer.event_format(command::Command).with_filter(filter))
                .init();
        }
        LogFormat::Text => tracing_subscriber::registry()
            .with(layer.with_filter(filter))
            .init(),
        LogFormat::Json => tracing_subscriber::registry()
            .with(layer.event_format(json::Json).with_filter(filter))
            .init(),
    }
}

/// A service logs its own work, and only warnings of libraries.
fn filter(settings: Settings) -> Targets {
    let level = match settings.verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let own = if settings.is_service {
        level.max(LevelFilter::INFO)
    } else {
        level
    };
    // The client logs each request that fails; whoever sent it reports that.
    let client = match settings.verbose {
        0 => LevelFilter::OFF,
        _ => level,
    };
    let reports = match settings.verbose {
        0 if settings.prints_failures => LevelFilter::ERROR,
        _ => own,
    };
    Targets::new()
        .with_default(level)
        .with_target("outrigger_controller::reconcile::report", reports)
        .with_target("kube_client", client)
        // It logs whole responses that it cannot parse, such as Secrets and the credentials of machines.
        .with_target("kube_client::client", LevelFilter::OFF)
        .with_target("kube_client::client::builder", client)
        .with_target("outrigger", own)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn failures_that_a_command_prints_are_not_logged_as_well() {
        let is_logged = |prints_failures, verbose| {
            let filter = filter(Settings {
                verbose,
                prints_failures,
                ..Settings::default()
            });
            filter.would_enable("outrigger_controller::reconcile::report", &Level::WARN)
        };
        assert!(!is_logged(true, 0));
        assert!(is_logged(true, 1) && is_logged(false, 0));
    }

    #[test]
    fn responses_of_the_api_server_are_not_logged_at_any_level() {
        for verbose in 0..4 {
            let filter = filter(Settings {
                verbose,
                is_service: true,
                ..Settings::default()
            });
            let is_enabled = |target| filter.would_enable(target, &Level::WARN);
            assert!(!is_enabled("kube_client::client"), "{verbose}");
            assert_eq!(is_enabled("kube_client::client::builder"), verbose > 0);
            assert_eq!(is_enabled("kube_client::config"), verbose > 0);
        }
    }
}
