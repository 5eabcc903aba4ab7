//! The command `mgp demo`: everything that the kernel does, shown on servers that are part of the program.
//!
//! The servers are processes, the kernel is a kernel, the agent is a plain MCP client, and the operator uses the
//! methods that the commands of `mgp` use. So the demo needs neither configuration nor network, and is a test of the
//! whole at once: it ends well only if each step came out as it tells.

mod servers;
mod setup;
mod story;

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use self::setup::DemoSetup;

/// The form in which the demo is told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// True if each step is told as a JSON object.
    pub(crate) json: bool,
    /// True if the text has colours.
    pub(crate) color: bool,
}

/// Takes all steps of the demo, and tells them on standard output.
///
/// # Errors
/// Fails if a step did not come out as it should. The steps after it are not taken.
pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    let mut account = DemoNarrator::new(options, io::stdout());
    account.begin()?;
    let stage =
        account.step("A kernel and its servers", async |said| Box::pin(setup::open(said)).await).await?;
    let walked = walk(&stage, &mut account).await;
    stage.close().await;
    walked?;
    account.end()
}

async fn walk(stage: &DemoSetup, account: &mut DemoNarrator<io::Stdout>) -> anyhow::Result<()> {
    account.step("What tools cost", async |said| story::cost(stage, said).await).await?;
    account.step("Discover", async |said| story::discover(stage, said).await).await?;
    account.step("Call", async |said| story::call(stage, said).await).await?;
    account.step("Permission", async |said| story::permission(stage, said).await).await?;
    account.step("Blocked calls", async |said| story::blocked(stage, said).await).await?;
    account.step("Confirmation", async |said| story::confirmation(stage, said).await).await?;
    account.step("Crash and restart", async |said| story::crash(stage, said).await).await?;
    account.step("The record", async |said| story::record(stage, said).await).await
}

/// Serves one of the demo's servers on standard input and output. The demo starts them, as processes of this program.
///
/// # Errors
/// Fails if there is no server of this name, or if its connection broke.
pub(crate) async fn serve(name: &str) -> anyhow::Result<()> {
    servers::serve(name).await.with_context(|| format!("the demo's server `{name}`"))
}

/// The account of one step: the lines, each with the name of who says or does something, and the figures.
#[derive(Debug, Default)]
struct StepNarration {
    lines: Vec<(&'static str, String)>,
    facts: Map<String, Value>,
}

impl StepNarration {
    fn kernel(&mut self, text: impl Into<String>) {
        self.lines.push(("kernel", text.into()));
    }

    /// Adds a line of the agent, and the kernel's answer.
    fn exchange(&mut self, agent: impl Into<String>, kernel: impl Into<String>) {
        self.lines.extend([("agent", agent.into()), ("kernel", kernel.into())]);
    }

    fn operator(&mut self, text: impl Into<String>) {
        self.lines.push(("operator", text.into()));
    }

    /// Adds a figure for programs, beside the text for people.
    fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }
}

/// The writer of the account, as the steps are taken.
struct DemoNarrator<W> {
    options: Options,
    out: W,
    steps: u32,
    began: Instant,
}

impl<W: Write> DemoNarrator<W> {
    fn new(options: Options, out: W) -> Self {
        Self { options, out, steps: 0, began: Instant::now() }
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        if !self.options.json {
            let bold = self.style(Style::new().bold());
            writeln!(
                self.out,
                "{bold}mgp demo{bold:#}: one kernel, three servers, an agent, and an operator."
            )?;
            writeln!(self.out, "It reads none of your configuration and sends nothing over the network.")?;
        }
        Ok(())
    }

    /// Takes a step and tells it, whether it came out well or not.
    async fn step<T>(
        &mut self,
        title: &str,
        step: impl AsyncFnOnce(&mut StepNarration) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.steps += 1;
        let (began, mut narration) = (Instant::now(), StepNarration::default());
        let outcome = step(&mut narration).await;
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let narration = if outcome.is_ok() { narration } else { StepNarration::default() };
        self.write(title, ms, &narration, outcome.as_ref().err())?;
        outcome.with_context(|| format!("step {}, {title}", self.steps))
    }

    fn end(mut self) -> anyhow::Result<()> {
        let ms = self.began.elapsed().as_millis();
        if !self.options.json {
            let green = self.style(AnsiColor::Green.on_default().bold());
            writeln!(self.out, "\n{green}All {} steps succeeded{green:#} in {ms} ms.", self.steps)?;
            writeln!(self.out, "Next: `mgp operators passphrase` sets the passphrase for approvals.")?;
            writeln!(self.out, "      `mgp import` takes over the servers of your MCP clients.")?;
        }
        Ok(self.out.flush()?)
    }

    fn write(
        &mut self,
        title: &str,
        ms: u64,
        narration: &StepNarration,
        error: Option<&anyhow::Error>,
    ) -> anyhow::Result<()> {
        if self.options.json {
            let said = narration.lines.iter().map(|(who, text)| json!({ "who": who, "text": text }));
            let mut step = json!({
                "step": self.steps,
                "title": title,
                "ok": error.is_none(),
                "ms": ms,
                "said": said.collect::<Vec<_>>(),
                "facts": narration.facts,
            });
            if let Some(error) = error {
                step["error"] = format!("{error:#}").into();
            }
            writeln!(self.out, "{step}")?;
        } else {
            let bold = self.style(Style::new().bold());
            let faint = self.style(Style::new().dimmed());
            writeln!(self.out, "\n{bold}{}. {title}{bold:#} {faint}({ms} ms){faint:#}", self.steps)?;
            for (who, text) in &narration.lines {
                let color = match *who {
                    "agent" => AnsiColor::Cyan,
                    "kernel" => AnsiColor::Green,
                    _ => AnsiColor::Yellow,
                };
                let style = self.style(color.on_default());
                for (number, line) in text.trim_end().lines().enumerate() {
                    let name = if number == 0 { who } else { "" };
                    writeln!(self.out, "   {style}{name:8}{style:#}  {line}")?;
                }
            }
            if let Some(error) = error {
                let red = self.style(AnsiColor::Red.on_default().bold());
                writeln!(self.out, "   {red}failed{red:#}    {error:#}")?;
            }
        }
        Ok(self.out.flush()?)
    }

    const fn style(&self, style: Style) -> Style {
        if self.options.color { style } else { Style::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn two_steps(options: Options) -> (String, anyhow::Result<()>) {
        let mut out = Vec::new();
        let mut account = DemoNarrator::new(options, &mut out);
        let first = account.step("First", async |narration| {
            narration.exchange("asks", "answers\nat length");
            narration.fact("calls", 1);
            Ok(())
        });
        let first = first.await;
        assert!(first.is_ok());
        let second = account.step::<()>("Second", async |_| anyhow::bail!("it rained")).await;
        (String::from_utf8(out).unwrap(), second)
    }

    #[tokio::test(start_paused = true)]
    async fn people_read_who_said_what() {
        let (text, outcome) = two_steps(Options::default()).await;
        let expected = "\n1. First (0 ms)\n   agent     asks\n   kernel    answers\n             at length\n\
                        \n2. Second (0 ms)\n   failed    it rained\n";
        assert_eq!(text, expected);
        assert_eq!(format!("{:#}", outcome.unwrap_err()), "step 2, Second: it rained");
    }

    #[tokio::test(start_paused = true)]
    async fn programs_read_an_object_for_each_step() {
        let (text, _) = two_steps(Options { json: true, color: false }).await;
        let steps: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&steps[0]["ok"], &steps[0]["facts"]["calls"]), (&json!(true), &json!(1)));
        assert_eq!(steps[0]["said"][1]["who"], "kernel");
        assert_eq!((&steps[1]["ok"], &steps[1]["error"]), (&json!(false), &json!("it rained")));
    }

    #[tokio::test(start_paused = true)]
    async fn colours_are_used_only_if_they_are_wanted() {
        assert!(two_steps(Options { json: false, color: true }).await.0.contains('\u{1b}'));
        assert!(!two_steps(Options::default()).await.0.contains('\u{1b}'));
    }
}
