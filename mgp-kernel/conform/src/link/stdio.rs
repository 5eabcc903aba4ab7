//! A program whose standard input and output are the connection.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

use super::{Arrival, LinkError};

/// A program, killed when this is dropped.
#[derive(Debug)]
pub(crate) struct StdioLink {
    _program: Child,
    input: ChildStdin,
}

impl StdioLink {
    pub(super) fn start(command: &[String], sender: mpsc::Sender<Arrival>) -> Result<Self, LinkError> {
        let [program, args @ ..] = command else { return Err(LinkError::Closed) };
        let mut program = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(LinkError::Unstarted)?;
        let (input, output) = (program.stdin.take(), program.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err(LinkError::Closed) };
        // The reader ends with the output, which ends with the program.
        tokio::spawn(read(output, sender));
        Ok(Self { _program: program, input })
    }

    pub(super) async fn send(&mut self, text: &str) -> Result<(), LinkError> {
        let line = format!("{text}\n");
        self.input.write_all(line.as_bytes()).await.map_err(|_| LinkError::Closed)?;
        self.input.flush().await.map_err(|_| LinkError::Closed)
    }
}

async fn read(output: ChildStdout, sender: mpsc::Sender<Arrival>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).await.is_ok_and(|bytes| bytes > 0) {
        let is_sent =
            line.trim_ascii().is_empty() || sender.send(Arrival::read(line.trim_ascii())).await.is_ok();
        if !is_sent {
            return;
        }
        line.clear();
    }
}
