//! The walk over the syntax of a command line, which tracks what is known and judges each command.

use std::collections::{HashMap, HashSet};

use crate::Finding;
use crate::shell::syntax::{Assignment, Body, Direction, Part, Pipeline, Script, Simple, Stage, Word};
use crate::shell::{Flaw, read};

use super::{
    Arg, Call, CommandPolicy, Danger, Files, Flow, HOLE, Inner, Kind, Marks, Place, Reading, Text, argv,
    bare_name, builtin, flow, inner_commands, interpreter, listed_text, refuse, refuse_if, stranger, windows,
};

/// The state of the judgement of one command line.
pub(super) struct Judge<'p> {
    pub(super) policy: &'p CommandPolicy,
    /// The variables that were assigned; the text is `None` if the value cannot be known.
    pub(super) variables: HashMap<String, (Option<String>, Marks)>,
    functions: HashSet<String>,
    /// The names under which other programs can be run: aliases, copies and links.
    pub(super) copies: HashMap<String, String>,
    /// The output that was written into files so far.
    pub(super) files: HashMap<String, Flow>,
    pub(super) directory: String,
    depth: u32,
    steps: u32,
    cells: usize,
}

impl<'p> Judge<'p> {
    pub(super) fn new(policy: &'p CommandPolicy) -> Self {
        Self {
            policy,
            // The parent process of the shell is a program of the kernel.
            variables: HashMap::from([("PPID".to_owned(), (None, Marks::KERNEL))]),
            copies: HashMap::new(),
            functions: HashSet::new(),
            files: HashMap::new(),
            directory: String::new(),
            depth: 0,
            steps: 0,
            cells: 0,
        }
    }

    /// Judges `text` as a command line, and returns its output.
    pub(super) fn text(&mut self, text: &str, input: &Flow) -> Result<Flow, Finding> {
        self.step()?;
        self.deeper(|judge| {
            windows::check_line(text)?;
            let reading = read(text);
            let flow = judge.script(&reading.script, input)?;
            refuse_if(reading.flaw == Some(Flaw::Open), Danger::Undecidable)?;
            Ok(flow)
        })
    }

    pub(super) fn deeper<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, Finding>,
    ) -> Result<T, Finding> {
        self.depth += 1;
        refuse_if(self.depth > MAX_DEPTH, Danger::TooComplex)?;
        let result = act(self);
        self.depth -= 1;
        result
    }

    pub(super) fn lookup(&self, name: &str) -> Option<String> {
        if let Some(value) = self.variables.get(name) {
            return value.0.clone();
        }
        if name == "PWD" && !self.directory.is_empty() {
            return Some(self.directory.clone());
        }
        listed_text("fixed-variables", name).map(str::to_owned)
    }

    /// Returns the marks of the value of a variable.
    pub(super) fn origin(&self, name: &str) -> Marks {
        self.variables.get(name).map_or(Marks::NONE, |(_, marks)| marks.and(Marks::NAMED))
    }

    pub(super) fn assign(&mut self, name: &str, value: Option<String>, marks: Marks) {
        let value = value.filter(|v| !v.contains(HOLE) && v.len() <= MAX_VALUE);
        let marks = marks.without(Marks::PATTERN).without(Marks::PIECES).without(Marks::PROCESS);
        self.variables.insert(name.to_owned(), (value, marks));
    }

    fn step(&mut self) -> Result<(), Finding> {
        self.steps += 1;
        refuse_if(self.steps > MAX_STEPS, Danger::TooComplex)
    }

    /// Adds `cells` to the characters made by expansion, whose total is limited.
    pub(super) fn spend(&mut self, cells: usize) -> Result<(), Finding> {
        self.cells = self.cells.saturating_add(cells);
        refuse_if(self.cells > MAX_CELLS, Danger::TooComplex)
    }

    pub(super) fn script(&mut self, script: &Script, input: &Flow) -> Result<Flow, Finding> {
        let mut out = Flow::default();
        for pipeline in &script.pipelines {
            out.then(self.pipeline(pipeline, input)?);
        }
        Ok(out)
    }

    fn pipeline(&mut self, pipeline: &Pipeline, input: &Flow) -> Result<Flow, Finding> {
        let mut flow = input.clone();
        for (at, stage) in pipeline.stages.iter().enumerate() {
            flow = self.stage(stage, &flow)?;
            if at + 1 < pipeline.stages.len() && flow.text == Text::Absent {
                flow.text = Text::Known(String::new());
            }
        }
        Ok(flow)
    }

    fn stage(&mut self, stage: &Stage, input: &Flow) -> Result<Flow, Finding> {
        let mut input = input.clone();
        let mut written = Vec::new();
        for redirect in &stage.redirects {
            let target = self.expand_whole(&redirect.target)?;
            match redirect.direction {
                Direction::Duplicate | Direction::Out => {}
                Direction::Text | Direction::Document => {
                    input = Flow { text: known(&target), marks: target.marks }
                }
                Direction::In | Direction::Both => {
                    argv::check_input(&target, &self.files_of(), &stage.body)?;
                    let kept = self.files.get(&file_key(&target.text)).cloned();
                    input = kept.unwrap_or_else(|| {
                        Flow::unknown(flow::of_file(&target, &self.directory).and(Marks::FILE))
                    });
                }
            }
            if redirect.direction.writes() {
                argv::check_output(&target, &self.files_of())?;
                written.push(target);
            }
        }
        let out = self.body(&stage.body, &input)?;
        for target in written {
            let fills_disk = out.marks.has(Marks::ENDLESS) && !target.text.starts_with("/dev/");
            refuse_if(fills_disk, Danger::ResourceExhaustion)?;
            if !target.text.starts_with("/dev/") {
                self.files.insert(file_key(&target.text), out.clone());
            }
        }
        let takes_output = stage.redirects.iter().any(|it| it.direction == Direction::Out);
        Ok(if takes_output { Flow::default() } else { out })
    }

    fn body(&mut self, body: &Body, input: &Flow) -> Result<Flow, Finding> {
        match body {
            Body::Simple(simple) => self.simple(simple, input),
            Body::Group(script) => self.deeper(|judge| judge.script(script, input)),
            Body::For { variable, values, body } => {
                self.deeper(|judge| judge.for_loop(variable, values, body, input))
            }
            Body::Loop { condition, body } => self.deeper(|judge| {
                refuse_if(multiplies(condition, body), Danger::ForkBomb)?;
                judge.script(condition, input)?;
                judge.script(body, input)
            }),
            Body::Function { name, body } => {
                refuse_if(body.commands().contains(&Some(name.clone())), Danger::ForkBomb)?;
                self.deeper(|judge| judge.script(body, &Flow::unknown(Marks::NONE)))?;
                self.functions.insert(name.clone());
                Ok(Flow::default())
            }
        }
    }

    fn for_loop(
        &mut self,
        variable: &str,
        values: &[Word],
        body: &Script,
        input: &Flow,
    ) -> Result<Flow, Finding> {
        let known = self.expand(values)?;
        let marks = known.iter().fold(Marks::NONE, |marks, arg| marks.and(arg.marks));
        let is_secret = known.iter().any(|arg| Place::new(&arg.text, &self.directory).is_secret());
        let marks = marks.and(Marks::SENSITIVE.when(is_secret));
        if known.is_empty() || known.len() > MAX_ROUNDS || !known.iter().all(Arg::is_known) {
            // One value among many tells little.
            self.assign(variable, None, marks.without(Marks::TELLING));
            let mut out = self.script(body, input)?;
            out.marks.add(marks);
            return Ok(out);
        }
        let mut out = Flow::default();
        for value in known {
            self.assign(variable, Some(value.text), value.marks.without(Marks::TELLING));
            out.then(self.script(body, input)?);
        }
        Ok(out)
    }

    fn simple(&mut self, simple: &Simple, input: &Flow) -> Result<Flow, Finding> {
        for Assignment { name, value } in &simple.assignments {
            let value = self.expand_whole(value)?;
            argv::check_assignment(self, name, &value)?;
            self.assign(name, Some(value.text), value.marks);
        }
        simple.words.first().map_or(Ok(()), check_spelling)?;
        let args = self.expand(&simple.words)?;
        if args.is_empty() {
            return Ok(if simple.words.is_empty() { input.clone() } else { Flow::default() });
        }
        // With other separators, a variable can split at places that are not visible in the text.
        let separated = self.lookup("IFS").is_some_and(|signs| signs.contains(|c: char| !c.is_whitespace()));
        let begins = simple.words.first().and_then(|word| word.parts.first());
        refuse_if(separated && matches!(begins, Some(Part::Variable { .. })), Danger::Obfuscation)?;
        windows::check_simple(&simple.source)?;
        self.command(&args, input)
    }

    /// Returns the protected files, seen from the working directory.
    fn files_of(&self) -> Files<'_> {
        Files { protected: &self.policy.protected, directory: &self.directory }
    }

    /// Judges one program with its arguments, and returns its output.
    pub(super) fn command(&mut self, args: &[Arg], input: &Flow) -> Result<Flow, Finding> {
        self.step()?;
        let Some((head, rest)) = args.split_first() else { return Ok(input.clone()) };
        refuse_if(head.text.contains("://"), Danger::DownloadAndRun)?;
        let program = program_name(head)?;
        let program = self.copies.get(&file_key(&head.text)).cloned().unwrap_or(program);
        let directory = self.directory.clone();
        let files = Files { protected: &self.policy.protected, directory: &directory };
        let call = Call { program: &program, head: &head.text, args: rest, input, files };
        argv::check_arguments(&call)?;
        if self.functions.contains(&program) {
            return Ok(Flow::unknown(input.marks));
        }
        if let Some(flow) = builtin::run(self, &call)? {
            return Ok(flow);
        }
        let reading = Reading::of(&call);
        argv::check(&call, reading.as_ref(), self.policy)?;
        interpreter::check(self, &call, reading.as_ref())?;
        let mut out = flow::output(self, &call);
        let Some(reading) = reading else {
            stranger::check(self, &call)?;
            return Ok(out);
        };
        let kinds =
            reading.kinds().filter_map(|(_, kind)| kind).chain(reading.given.iter().map(|given| given.kind));
        let installs = kinds.into_iter().any(|kind| matches!(kind, Kind::Package | Kind::SystemPackage));
        let fetched = |arg: &Arg| {
            self.files.get(&file_key(&arg.text)).is_some_and(|flow| flow.marks.has(Marks::FETCHED))
        };
        refuse_if(installs && rest.iter().any(fetched), Danger::DownloadAndRun)?;
        for inner in inner_commands(&call, &reading)? {
            out = self.deeper(|judge| match inner {
                Inner::Command(args) => judge.command(&args, input),
                Inner::Shell(text) => judge.text(&text, input),
                Inner::Never(danger) => Err(refuse(danger)),
            })?;
        }
        if out.text == Text::Absent {
            out.text = Text::Unknown;
        }
        Ok(out)
    }
}

/// Returns the key under which a written file is recorded.
pub(super) fn file_key(path: &str) -> String {
    path.trim_start_matches("./").to_owned()
}

fn known(arg: &Arg) -> Text {
    if arg.text.contains(HOLE) { Text::Unknown } else { Text::Known(arg.text.clone()) }
}

/// Returns the name of the program that `head` starts, in lower case and without directories.
pub(super) fn program_name(head: &Arg) -> Result<String, Finding> {
    let text = head.text.trim_end_matches('/');
    // This is another name for the program that a process runs, whatever that is.
    refuse_if(text.starts_with("/proc/") && text.ends_with("/exe"), Danger::Obfuscation)?;
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let is_computed = name.contains(HOLE) || (head.marks.has(Marks::CRAFTED) && head.text.contains(HOLE));
    refuse_if(is_computed, Danger::Undecidable)?;
    refuse_if(head.marks.has(Marks::PIECES), Danger::Obfuscation)?;
    let is_named = name.len() > 1 && head.text.contains(char::is_alphanumeric) || head.text.contains('/');
    refuse_if(head.marks.has(Marks::PATTERN) && is_named, Danger::Undecidable)?;
    // `=name` is the notation of a shell for the path of the program `name`.
    Ok(bare_name(name.trim_start_matches('=')))
}

/// Refuses command names that are spelled so that they are overlooked.
fn check_spelling(word: &Word) -> Result<(), Finding> {
    // `.\program.exe` is a path on Windows.
    let windows = matches!(word.parts.as_slice(), [Part::Bare(here), Part::Escaped(_), Part::Bare(name)]
        if here == "." && [".exe", ".bat", ".cmd", ".ps1"].iter().any(|end| name.ends_with(end)));
    let odd = !windows
        && word.parts.iter().enumerate().any(|(at, part)| match part {
            Part::Ansi { .. } => true,
            Part::Escaped(c) => at > 0 && (c.is_alphanumeric() || *c == '/'),
            Part::Bare(text) => text.contains('{') && text.contains(',') && text.contains('}'),
            Part::Command(script) => {
                script.pipelines.is_empty()
                    || (word.parts.len() == 1 && !looks_up(script))
                    || match word.parts.get(at + 1) {
                        Some(Part::Bare(next)) => !next.starts_with(['/', '.']),
                        Some(_) => true,
                        None => match at.checked_sub(1).and_then(|before| word.parts.get(before)) {
                            Some(Part::Bare(before)) => !before.ends_with('/'),
                            Some(_) => true,
                            None => false,
                        },
                    }
            }
            _ => false,
        });
    refuse_if(odd, Danger::Obfuscation)
}

/// Returns whether the script looks a program up by its name, like `$(which program)`.
fn looks_up(script: &Script) -> bool {
    let [Pipeline { stages, .. }] = script.pipelines.as_slice() else { return false };
    matches!(stages.as_slice(), [stage] if begins_with(stage, &["which", "command", "type", "whereis", "whence"]))
}

/// Returns whether the stage is a simple command that begins with one of these words.
fn begins_with(stage: &Stage, names: &[&str]) -> bool {
    matches!(&stage.body, Body::Simple(simple) if matches!(
        simple.words.first().map(|word| word.parts.as_slice()),
        Some([Part::Bare(name)]) if names.contains(&name.as_str())
    ))
}

/// Returns whether the stage is a condition that always holds: `true`, `:`, or the head of `for ((;;))`.
fn always_holds(stage: &Stage) -> bool {
    let Body::Simple(simple) = &stage.body else { return false };
    let counts = simple.words.get(1).is_some_and(|word| match word.parts.as_slice() {
        [Part::Double(inner)] => !matches!(inner.as_slice(), [Part::Bare(text)]
            if text.split(';').nth(1).is_some_and(|test| test.trim().is_empty())),
        _ => true,
    });
    begins_with(stage, &["true"]) || begins_with(stage, &[":"]) && !counts
}

/// Returns whether the loop never ends and starts a background process in each round.
fn multiplies(condition: &Script, body: &Script) -> bool {
    let endless = condition
        .pipelines
        .iter()
        .any(|pipeline| matches!(pipeline.stages.as_slice(), [stage] if always_holds(stage)));
    let mut stages =
        body.pipelines.iter().filter(|pipeline| !pipeline.background).flat_map(|one| &one.stages);
    let waits = stages.any(|stage| begins_with(stage, &["sleep", "wait", "read", "inotifywait", "nc"]));
    endless && !waits && body.runs_beside()
}

/// The largest number of values of a loop that are tried one by one.
const MAX_ROUNDS: usize = 16;
const MAX_STEPS: u32 = 2_000;
/// The largest length in bytes of a value that is tracked in a variable.
const MAX_VALUE: usize = 4096;
/// The largest number of characters that all expansions together may make.
const MAX_CELLS: usize = 1 << 20;
const MAX_DEPTH: u32 = 24;
