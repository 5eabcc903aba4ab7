use std::fmt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStderr;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// Where a server's stderr goes.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Stderr {
    /// Where that of this process goes.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// To a function, line by line; see [`Stderr::lines`].
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

impl Stderr {
    /// Hands each line to `take`, without its end. A line longer than 8 KiB comes in pieces.
    ///
    /// `take` must not block: the server may wait for room to write while it runs.
    pub fn lines(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Lines(Arc::new(take))
    }

    pub(super) fn to_stdio(&self) -> Stdio {
        match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::Lines(_) => Stdio::piped(),
        }
    }
}

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inherit => "Inherit",
            Self::Null => "Null",
            Self::Lines(_) => "Lines",
        })
    }
}

/// Reads stderr for as long as this is held, and what is left of it for a moment after: the last lines of a server that ends
/// say why.
#[derive(Debug)]
pub(super) struct StderrReader {
    /// Tells the task by being dropped.
    _held: oneshot::Sender<()>,
}

/// Reads what a server writes to stderr; always to the end, or the server would stop when the pipe is full.
pub(super) fn read(pipe: ChildStderr, stderr: Stderr) -> Option<StderrReader> {
    let Stderr::Lines(take) = stderr else { return None };
    let (held, released) = oneshot::channel();
    let reading = async move {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut pipe).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => take(String::from_utf8_lossy(line.trim_ascii_end()).as_ref()),
            }
        }
    };
    tokio::spawn(async move {
        // A process that left the server's group may keep the pipe open for ever.
        let given_up = async {
            let _ = released.await;
            sleep(AFTER_THE_END).await;
        };
        tokio::select! {
            () = reading => {}
            () = given_up => {}
        }
    });
    Some(StderrReader { _held: held })
}

const AFTER_THE_END: Duration = Duration::from_secs(2);

const MAX_LINE_BYTES: u64 = 8 << 10;
