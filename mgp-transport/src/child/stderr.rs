use std::fmt;
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStderr;

use super::process::StderrTask;

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

/// Reads what a server writes to stderr; always to the end, or the server would stop when the pipe is full.
pub(super) fn read(pipe: ChildStderr, stderr: Stderr) -> Option<StderrTask> {
    let Stderr::Lines(take) = stderr else { return None };
    let reading = tokio::spawn(async move {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut pipe).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => take(String::from_utf8_lossy(line.trim_ascii_end()).as_ref()),
            }
        }
    });
    Some(StderrTask(reading.abort_handle()))
}

const MAX_LINE_BYTES: u64 = 8 << 10;
