//! `cargo xtask servers`: servers that others publish, listed and called directly and through the kernel.
//!
//! All of them are installed from npm and PyPI and stand behind one kernel at once, which is started twice. Each tool's
//! definition and each answer has to come through to clients of both eras byte for byte, but for the name, no tool may be
//! held back at either start, no call refused. `--short` tries the few that
//! are small.

mod catalog;
mod compare;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    process::{self, Background},
    session::{Era, Session},
    table::Table,
    walk::home::Servers,
    workspace::Workspace,
};
use catalog::{Installed, Server};
use compare::{Answer, Digits, Members, difference, shuffled};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the small ones
    #[arg(long)]
    short: bool,
    /// Only this server
    #[arg(long, value_name = "ID")]
    only: Option<String>,
    /// A program in the place of `mgp`, built in release mode
    #[arg(long, value_name = "PROGRAM")]
    mgp: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mgp = match &args.mgp {
        // It is run in another folder.
        Some(program) => std::path::absolute(program)?,
        None => workspace.build_mgp()?,
    };
    let list = workspace.root.join("xtask/servers/servers.json");
    let folder = workspace.target.join("servers");
    let installed = Installed::new(&folder, &list, args.short, args.only.as_deref())?;
    ensure!(!installed.servers.is_empty(), "no server is named so in {}", list.display());

    // What differs from start to start would be held at the second.
    let first = Kernel::start(&installed, mgp.clone(), &folder, State::New)?;
    Through::start(&first, "first", Era::Legacy)?;
    drop(first);
    let kernel = Kernel::start(&installed, mgp, &folder, State::Kept)?;
    let mut report = Report::new();
    let eras = [("legacy", Era::Legacy), ("modern", Era::Modern)];
    let mut through = Vec::new();
    for (word, era) in eras {
        through.push(Through::start(&kernel, word, era)?);
    }
    for server in &installed.servers {
        let row = tried(&installed, &kernel, server, &mut through)
            .unwrap_or_else(|error| Row::broken(&format!("{error:#}")));
        report.row(server, &row);
    }
    drop(through);
    tell_cold(&installed, kernel)?;
    report.finish()
}

/// Prints how long commands take that find no kernel, beside the start and the call of the one server that is called.
fn tell_cold(installed: &Installed, mut kernel: Kernel) -> Result<()> {
    kernel.serving = None;
    let Some((first, (tool, arguments))) =
        installed.servers.iter().find_map(|first| Some((first, first.calls.first()?)))
    else {
        return Ok(());
    };
    let arguments = installed.filled(&arguments.to_string());
    let began = Instant::now();
    let mut alone = direct(installed, first)?;
    drop(alone.ask(
        "tools/call",
        json!({ "name": tool, "arguments": serde_json::from_str::<Value>(&arguments)? }),
    )?);
    let alone = began.elapsed();
    let time_of = |arguments: &[&str]| {
        let began = Instant::now();
        let outcome = process::output(&mut kernel.command(arguments));
        let elapsed = began.elapsed();
        process::output(&mut kernel.command(&["stop"]))?;
        outcome.map(|_| elapsed)
    };
    let name = format!("{}.{tool}", first.id);
    let called = time_of(&["call", &name, "--args", &arguments])?;
    let found = time_of(&["search", "read a file"])?;
    let [alone, called, found] = [alone, called, found].map(|time| time.as_secs_f64());
    println!(
        "no kernel runs: `mgp call {name}` takes {called:.2} s (the server alone: {alone:.2} s), `mgp search` {found:.2} s"
    );
    Ok(())
}

/// A session through the kernel, and what it lists.
struct Through {
    word: &'static str,
    session: Session,
    tools: BTreeMap<String, Members>,
}

impl Through {
    fn start(kernel: &Kernel, word: &'static str, era: Era) -> Result<Self> {
        let mut session = Session::start(&mut kernel.command(&["serve"]), era)?;
        let tools = tools(&mut session)?;
        Ok(Self { word, session, tools })
    }

    /// The name under which the kernel offers a tool to clients that know nothing of MGP. Where it could be taken for
    /// another name, it has fewer underscores and ends in a digest.
    fn offered(&self, server: &Server, tool: &str) -> Option<&str> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name = format!("{}__{tool}", server.id).replace(|c| plain(c) != c, "_");
        let parts = |name: &str| {
            name.split('_').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        let with_digest = |offered: &str| {
            let cut = offered.rsplit_once('_');
            cut.is_some_and(|(head, digest)| digest.len() == DIGEST && parts(head) == parts(&name))
        };
        let found = self.tools.keys().find(|offered| **offered == name || with_digest(offered));
        found.map(String::as_str)
    }
}

/// The results of one server.
#[derive(Default)]
struct Row {
    tools: usize,
    calls: usize,
    held: usize,
    flagged: usize,
    refused: usize,
    /// The calls that fail at the server itself.
    failing: usize,
    faults: Vec<String>,
}

impl Row {
    fn broken(why: &str) -> Self {
        Self { faults: vec![why.to_owned()], ..Self::default() }
    }
}

fn tried(installed: &Installed, kernel: &Kernel, server: &Server, through: &mut [Through]) -> Result<Row> {
    let mut direct = direct(installed, server)?;
    let listed = tools(&mut direct)?;
    let mut row = Row { tools: listed.len(), flagged: kernel.flagged(&listed)?, ..Row::default() };
    for (name, definition) in &listed {
        for peer in through.iter() {
            let subject = format!("{}, {name}", peer.word);
            match peer.offered(server, name).map(|offered| &peer.tools[offered]) {
                None => {
                    row.held += usize::from(peer.word == "legacy");
                    row.faults.push(format!("{subject}: is not listed"));
                }
                Some(offered) => {
                    let mut offered = offered.clone();
                    if server.varies && shuffled_alike(definition, &offered) {
                        offered.clone_from(definition);
                    }
                    let differs = difference(definition, &offered, &["name"], Digits::Same);
                    row.faults.extend(differs.map(|differs| format!("{subject}: {differs}")));
                }
            }
        }
    }
    for (tool, arguments) in &server.calls {
        let arguments: Value = serde_json::from_str(&installed.filled(&arguments.to_string()))?;
        let call = |name: &str| json!({ "name": name, "arguments": arguments });
        let lines = [(); 2].map(|()| direct.ask("tools/call", call(tool)));
        let [first, second] = lines.map(|line| line.and_then(|line| Answer::read(&line)));
        let (first, second) = (first?, second?);
        let is_steady = |digits: &Digits| second.difference(&first, *digits).is_none();
        let digits = [Digits::Same, Digits::Any].into_iter().find(is_steady).unwrap_or(Digits::Text);
        row.failing += usize::from(!first.succeeds());
        for peer in through.iter_mut() {
            let offered = peer.offered(server, tool).with_context(|| format!("{tool} is not listed"))?;
            let asked = call(offered);
            let line = peer.session.ask("tools/call", asked)?;
            let answer = Answer::read(&kernel.at_home(&line))?;
            row.calls += 1;
            row.refused += usize::from(answer.error.is_some() && first.error.is_none());
            let differs = answer.difference(&first, digits);
            row.faults.extend(differs.map(|differs| format!("{}, call of {tool}: {differs}", peer.word)));
        }
    }
    Ok(row)
}

/// Returns whether the two differ by the order of letters only, apart from the name.
fn shuffled_alike(one: &Members, other: &Members) -> bool {
    let [mut one, mut other] = [one, other].map(shuffled);
    one.remove("name");
    other.remove("name");
    one == other
}

/// A session with the server itself, in the era that the kernel speaks with it: that of sessions if the server has them.
/// Many servers write a schema in two ways, one for each era: in the newer one with `type` in front.
fn direct(installed: &Installed, server: &Server) -> Result<Session> {
    let mut command = installed.command(server);
    command.env("HOME", installed.home());
    if !server.varies {
        command.envs(STEADY);
    }
    for (name, value) in &server.env {
        command.env(name, installed.filled(value.as_str().unwrap_or_default()));
    }
    let mut session = Session::start(&mut command, Era::Modern)?;
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "xtask", "version": "1"},
    });
    let opened = session.ask_as_written("initialize", &hello.to_string());
    if opened.and_then(|line| Answer::read(&line)).is_ok_and(|answer| answer.result.is_some()) {
        drop(session);
        return Session::start(&mut command, Era::Legacy);
    }
    Ok(session)
}

/// All tools of all pages, by name.
fn tools(session: &mut Session) -> Result<BTreeMap<String, Members>> {
    #[derive(Deserialize)]
    struct Page {
        tools: Vec<Members>,
        #[serde(rename = "nextCursor")]
        next_cursor: Option<String>,
    }
    #[derive(Deserialize)]
    struct Line {
        result: Option<Page>,
        error: Option<Box<RawValue>>,
    }
    let mut tools = BTreeMap::new();
    let mut params = json!({});
    loop {
        let line: Line = serde_json::from_str(&session.ask("tools/list", params)?)?;
        let Some(page) = line.result else { bail!("tools/list fails: {:?}", line.error) };
        for tool in page.tools {
            let name = tool.get("name").context("a tool without a name")?;
            tools.insert(serde_json::from_str(name.get())?, tool);
        }
        match page.next_cursor {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return Ok(tools),
        }
    }
}

/// Says whether a kernel knows of the one before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Kept,
}

/// A kernel in front of all servers.
struct Kernel {
    mgp: PathBuf,
    config: PathBuf,
    state: PathBuf,
    work: PathBuf,
    home: PathBuf,
    serving: Option<Background>,
}

impl Kernel {
    /// Starts it and waits until every server is connected.
    fn start(installed: &Installed, mgp: PathBuf, folder: &Path, kept: State) -> Result<Self> {
        let config = folder.join("mgp.toml");
        fs::write(&config, configuration(installed))?;
        let state = folder.join("state");
        if kept == State::New && state.exists() {
            fs::remove_dir_all(&state)?;
        }
        let (work, home) = (installed.work(), installed.home());
        let mut kernel = Self { mgp, config, state, work, home, serving: None };
        let port = process::free_port()?;
        let mut serve = kernel.command(&["serve", "--http", &format!("127.0.0.1:{port}")]);
        let began = Instant::now();
        kernel.serving = Some(Background::start(&mut serve, port, &folder.join("kernel.log"))?);
        loop {
            let waiting = kernel.unconnected()?;
            if waiting.is_empty() {
                println!("{} servers connected in {} s", installed.servers.len(), began.elapsed().as_secs());
                return Ok(kernel);
            }
            ensure!(began.elapsed() < START_LIMIT, "not connected: {}", waiting.join(", "));
            thread::sleep(Duration::from_millis(500));
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.mgp);
        command.arg("--config").arg(&self.config).arg("--state").arg(&self.state).args(arguments);
        command.current_dir(&self.work).env("HOME", &self.home);
        command
    }

    /// The servers that are not connected, each with its state.
    fn unconnected(&self) -> Result<Vec<String>> {
        // Its exit code says what is counted here.
        let listed = self.command(&["servers", "--wait", "--json"]).output()?;
        let all: Servers = serde_json::from_slice(&listed.stdout)?;
        let waiting = all.servers.into_iter().filter(|server| server.state != "connected");
        Ok(waiting.map(|server| format!("{} ({})", server.id, server.state)).collect())
    }

    /// Returns what a server wrote as it would have with the home of the one that the kernel did not start: behind the kernel each
    /// has its own.
    fn at_home(&self, line: &str) -> String {
        let homes = format!("{}/homes/", self.state.display());
        let mut parts = line.split(&homes);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |before, part| {
            let rest = part.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
            format!("{before}{}{rest}", self.home.display())
        })
    }

    /// How many of the definitions are offered with a mark.
    fn flagged(&self, tools: &BTreeMap<String, Members>) -> Result<usize> {
        #[derive(Deserialize)]
        struct Verdict {
            verdict: String,
        }
        let mut check = self.command(&["check", "--kind", "tool_def"]);
        let mut check = check.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut input = check.stdin.take().context("no standard input")?;
        for (name, tool) in tools {
            writeln!(input, "{}", json!({ "id": name, "input": tool }))?;
        }
        drop(input);
        let output = String::from_utf8(check.wait_with_output()?.stdout)?;
        let verdicts = output.lines().map(serde_json::from_str).collect::<Result<Vec<Verdict>, _>>()?;
        ensure!(verdicts.len() == tools.len(), "`mgp check` judges {} of {}", verdicts.len(), tools.len());
        Ok(verdicts.iter().filter(|verdict| verdict.verdict == "flag").count())
    }
}

/// All tools are listed, and what asks a person is switched off: nobody is there.
fn configuration(installed: &Installed) -> String {
    let mut text = String::from(
        "[permissions]\npolicy = \"auto_approve\"\nnever_automatic = []\n\n[confirmation]\ndangerous = false\n\n\
         [access]\ndefault = \"opt-out\"\n\n[tools]\nlevel = \"L0\"\n",
    );
    for server in &installed.servers {
        let command = installed.command(server);
        let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        // A string of JSON is one of TOML, and so is a list of them.
        let steady = STEADY.iter().filter(|_| !server.varies);
        let steady = steady.map(|(name, value)| format!("{name} = {}", json!(value)));
        let own = server
            .env
            .iter()
            .map(|(name, value)| format!("{name} = {}", installed.filled(&value.to_string())));
        let variables: Vec<_> = steady.chain(own).collect();
        let _ = write!(
            text,
            "\n[[servers]]\nid = {}\ncommand = {}\nargs = {}\nenv = {{ {} }}\n\
             limits.startup_timeout_ms = {ALL_AT_ONCE_MS}\n",
            json!(server.id),
            json!(command.get_program().to_string_lossy()),
            json!(arguments),
            variables.join(", "),
        );
        if let Some(preset) = &server.preset {
            let _ = writeln!(text, "[servers.network]\npreset = {}", json!(preset));
        }
    }
    text
}

struct Report {
    table: Table,
    faults: usize,
    totals: [usize; 6],
}

impl Report {
    fn new() -> Self {
        let table = Table::new([
            "server", "package", "tools", "calls", "held", "flagged", "refused", "failing", "bytes",
        ]);
        Self { table, faults: 0, totals: [0; 6] }
    }

    fn row(&mut self, server: &Server, row: &Row) {
        let numbers = [row.tools, row.calls, row.held, row.flagged, row.refused, row.failing];
        for (total, number) in self.totals.iter_mut().zip(numbers) {
            *total += number;
        }
        for fault in &row.faults {
            println!("{}: {fault}", server.id);
        }
        self.faults += row.faults.len();
        let bytes = if row.faults.is_empty() { "same" } else { "DIFFERENT" };
        let [tools, calls, held, flagged, refused, failing] = numbers.map(|number| number.to_string());
        let package = server.release();
        self.table.row([
            server.id.clone(),
            package,
            tools,
            calls,
            held,
            flagged,
            refused,
            failing,
            bytes.into(),
        ]);
    }

    fn finish(self) -> Result<()> {
        print!("\n{}", self.table);
        let [tools, calls, held, flagged, refused, failing] = self.totals;
        println!(
            "\n{tools} tools: {held} held, {flagged} flagged; {calls} calls: {refused} refused; {failing} fail without the kernel, \
             too"
        );
        ensure!(self.faults == 0, "{} differences", self.faults);
        Ok(())
    }
}

/// Without it, sets have another order in each process of Python, and some servers describe their tools by them.
const STEADY: [(&str, &str); 1] = [("PYTHONHASHSEED", "0")];

/// The length of a digest at the end of a name.
const DIGEST: usize = 10;

/// Twenty servers start at once, some of which import half of PyPI.
const START_LIMIT: Duration = Duration::from_mins(5);
/// The time that a server may take to start while all the others do, too, on a machine with few processors.
const ALL_AT_ONCE_MS: u64 = 180_000;
