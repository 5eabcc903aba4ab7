//! The lines that the kernel writes to standard error.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mgp_discovery::config::model::{TelemetrySettings, usual};
use mgp_types::is_hidden;
use mgp_types::mgp::Timestamp;
use parking_lot::Mutex;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::StartError;

/// Returns the filter that says how much is logged.
///
/// # Errors
/// Fails if the filter cannot be read.
pub(super) fn filter(settings: &TelemetrySettings, chosen: Option<&str>) -> Result<Targets, StartError> {
    let of_environment = std::env::var("MGP_LOG").ok();
    let (said_by, words) = match (of_environment.as_deref(), chosen, settings.log.as_deref()) {
        (Some(words), ..) => ("MGP_LOG", words),
        (None, Some(words), _) => ("the filter", words),
        (None, None, Some(words)) => ("`telemetry.log`", words),
        (None, None, None) => ("", usual::LOG),
    };
    words.parse::<Targets>().map_err(|error| {
        let example = "no filter such as info or mgp_kernel=debug";
        StartError::Config(format!("{said_by}: `{words}` is {example}: {error}"))
    })
}

/// Returns the layer that writes the lines that pass this filter to standard error.
pub(super) fn lines<S>(targets: Targets) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    if std::env::var("MGP_LOG_FORMAT").is_ok_and(|format| format == "json") {
        lines.json().map_event_format(OneLineFormat::new).with_filter(targets).boxed()
    } else {
        lines.compact().map_event_format(OneLineFormat::new).with_filter(targets).boxed()
    }
}

/// A format that writes each event as one line, and escapes characters that a terminal would act upon, or nobody would
/// see: names and messages of peers are in it, and must neither begin a line nor change how another is shown.
///
/// They are escaped in the form of JSON, which lines in JSON need. So that no peer can fill the log, [`MAX_A_MINUTE`]
/// warnings are written of each place in the program each minute, and the next one says how many were left out.
struct OneLineFormat<F> {
    format: F,
    counted: Mutex<LineCounts>,
}

/// The numbers of the lines of each place of the program: its module and its line there. Each has the minute that is counted.
pub(super) type LineCounts = HashMap<(&'static str, u32), (i64, u64)>;

impl<F> OneLineFormat<F> {
    fn new(format: F) -> Self {
        Self { format, counted: Mutex::default() }
    }
}

/// Counts a line in this minute. Returns how many lines like it were left out before; `None` if it is left out, too.
pub(super) fn count(counts: &mut LineCounts, line: &Metadata<'static>, minute: i64) -> Option<u64> {
    // Whoever asks for more than warnings wants all of it.
    if *line.level() > Level::WARN {
        return Some(0);
    }
    let place = (line.target(), line.line().unwrap_or_default());
    let (counted, number) = counts.entry(place).or_insert((minute, 0));
    let mut before = 0;
    if *counted != minute {
        before = number.saturating_sub(MAX_A_MINUTE);
        (*counted, *number) = (minute, 0);
    }
    *number += 1;
    (*number <= MAX_A_MINUTE).then_some(before)
}

/// Returns the number of lines of this process that were left out because there were too many of their kind.
pub(crate) fn lines_left_out() -> u64 {
    LEFT_OUT.load(Relaxed)
}

/// The number of lines that were left out.
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);
/// The largest number of lines of one kind in a minute.
const MAX_A_MINUTE: u64 = 60;

impl<S, N, F> FormatEvent<S, N> for OneLineFormat<F>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let minute = Timestamp::now().as_millis() / 60_000;
        let Some(left_out) = count(&mut self.counted.lock(), event.metadata(), minute) else {
            LEFT_OUT.fetch_add(1, Relaxed);
            return Ok(());
        };
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        if left_out > 0 {
            // A line of JSON gets one member more.
            match line.trim_end().strip_prefix('{') {
                Some(members) => line = format!("{{\"left_out_before\":{left_out},{members}"),
                None => line = format!("{} left_out_before={left_out}", line.trim_end()),
            }
        }
        for c in line.trim_end_matches('\n').chars() {
            if is_hidden(c) {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            } else {
                out.write_char(c)?;
            }
        }
        out.write_char('\n')
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(is_json: bool) -> String {
        let lines = Lines::default();
        let (to, format) = (lines.clone(), tracing_subscriber::fmt::layer().with_ansi(false));
        let layer = format.with_writer(move || to.clone());
        let layer: Box<dyn Layer<_> + Send + Sync> = if is_json {
            layer.json().map_event_format(OneLineFormat::new).boxed()
        } else {
            layer.compact().map_event_format(OneLineFormat::new).boxed()
        };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::warn_span!("rpc", method = %"x\n\u{1b}[2J\u{202e}y");
            let _entered = span.enter();
            tracing::warn!(method = %"tools/call\n2026 ERROR forged\u{1b}]0;t\u{7}", "refused\r");
        });
        String::from_utf8(lines.0.lock().clone()).unwrap()
    }

    #[test]
    fn a_flood_of_lines_is_bounded_and_the_rest_counted() {
        let mut counts = LineCounts::new();
        tracing::subscriber::with_default(tracing_subscriber::registry(), || {
            let span = tracing::warn_span!("x");
            let metadata = span.metadata().unwrap();
            let written = (0..1_000).filter(|_| count(&mut counts, metadata, 7).is_some()).count();
            assert_eq!(written as u64, MAX_A_MINUTE);
            assert_eq!(count(&mut counts, metadata, 8), Some(1_000 - MAX_A_MINUTE));
            assert_eq!(count(&mut counts, metadata, 8), Some(0));
        });
    }

    #[test]
    fn nothing_that_a_peer_says_begins_a_line_or_moves_the_cursor() {
        for is_json in [false, true] {
            let line = written(is_json);
            assert_eq!(line.matches('\n').count(), 1, "{line:?}");
            assert!(line.ends_with('\n') && line.contains("forged"), "{line:?}");
            assert!(!line.trim_end().chars().any(is_hidden), "{line:?}");
        }
        assert!(serde_json::from_str::<serde_json::Value>(&written(true)).is_ok());
    }
}
