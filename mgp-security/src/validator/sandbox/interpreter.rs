//! The rules about interpreters: the code they get on the command line, through a pipe or in a file.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::Finding;

use super::argv::{Call, address_of_metadata, is_network_device};
use super::builtin::{feed, run_file};
use super::finding::{
    REFUSE_CODE, REFUSE_DOWNLOAD, REFUSE_METADATA, REFUSE_REVERSE_SHELL, REFUSE_SECRET, REFUSE_UNDECIDABLE,
    refuse,
};
use super::judge::{Judge, file_key};
use super::known::{Kind, Reading, Trait};
use super::place::Place;
use super::sed::{Effect, effects};
use super::unwrap::is_bare_shell;
use super::value::{Arg, Flow, HOLE, Marks, Text};
use super::{pattern, patterns};

/// Judges the code that `call` runs, if its program is an interpreter or a file.
pub(super) fn check(
    judge: &mut Judge<'_>,
    call: &Call<'_>,
    reading: Option<&Reading<'_>>,
) -> Result<(), Finding> {
    let windows = [".exe", ".bat", ".cmd", ".ps1", ".com"].iter().any(|end| call.head.ends_with(end));
    if call.head.contains('/') || windows {
        run_file(judge, &Arg::new(call.head))?;
    }
    if matches!(call.program, "start-process" | "start" | "invoke-item" | "saps") {
        call.operands().try_for_each(|file| run_file(judge, file))?;
    }
    let Some(reading) = reading else { return Ok(()) };
    if reading.program.has(Trait::Shell) {
        return shell(judge, call);
    }
    match call.program {
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" | "goawk" => awk(judge, call)?,
        "sed" | "gsed" | "ssed" => sed(judge, call, reading)?,
        "make" | "gmake" => make(call)?,
        "parallel" if call.operands().next().is_none() => {
            feed(judge, call.input)?;
        }
        "deno" | "bun"
            if call.operands().any(|arg| arg.text.starts_with("http"))
                && (call.program == "bun"
                    || call.args.iter().any(|arg| {
                        arg.text == "-A"
                            || arg.text.starts_with("--allow-all")
                            || arg.text.starts_with("--allow-run")
                    })) =>
        {
            return Err(refuse(REFUSE_DOWNLOAD));
        }
        "go" | "rustc" | "gcc" | "cc" | "tcc" | "java" | "nim" | "swift" | "cargo" | "dotnet" => {
            let elsewhere = |arg: &Arg| arg.marks.has(Marks::FETCHED) && arg.marks.has(Marks::PROCESS);
            if call.args.iter().any(elsewhere) {
                return Err(refuse(REFUSE_DOWNLOAD));
            }
            for arg in call.args {
                if is_written(judge, arg) {
                    written_code(judge, arg)?;
                }
            }
        }
        _ => {}
    }
    code(judge, call, reading)
}

fn make(call: &Call<'_>) -> Result<(), Finding> {
    let own = |path: &str| ["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().any(|d| path.starts_with(d));
    let shell = call.args.iter().find_map(|arg| arg.text.strip_prefix("SHELL="));
    if shell.is_some_and(|path| path.contains('/') && !own(path)) {
        return Err(refuse(REFUSE_CODE));
    }
    let piped = matches!(call.value('f', "file"), Some("-" | "/dev/stdin")) && call.input.is_fed();
    let elsewhere = |arg: &Arg| arg.marks.has(Marks::FETCHED) && arg.marks.has(Marks::PROCESS);
    if piped || call.args.iter().any(elsewhere) { Err(refuse(REFUSE_DOWNLOAD)) } else { Ok(()) }
}

fn shell(judge: &mut Judge<'_>, call: &Call<'_>) -> Result<(), Finding> {
    let mut args = call.args.iter();
    while let Some(arg) = args.next() {
        let text = arg.text.as_str();
        if matches!(text, "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" | "--") {
            if let Some(file) = args.as_slice().first().filter(|_| text.starts_with("--") && text.len() > 2) {
                run_file(judge, file)?;
            }
            if text != "--" {
                args.next();
            }
        } else if arg.is_option() && !text.starts_with("--") && text.contains('c') {
            let Some(command) = args.find(|arg| !arg.is_option()) else { return Ok(()) };
            not_from_elsewhere(command)?;
            judge.text(&command.text, call.input)?;
            return Ok(());
        } else if text == "-s" || text == "-" {
            break;
        } else if !arg.is_option() && !text.starts_with('+') {
            if matches!(text, "/dev/stdin" | "/dev/fd/0") {
                break;
            }
            if arg.marks.has(Marks::FETCHED) {
                return Err(refuse(REFUSE_DOWNLOAD));
            }
            if arg.marks.has(Marks::PROCESS) {
                return Err(refuse(REFUSE_UNDECIDABLE));
            }
            return run_file(judge, arg);
        }
    }
    feed(judge, call.input)?;
    Ok(())
}

/// Judges the code in the arguments, the files of code, and the input if it is code.
fn code(judge: &mut Judge<'_>, call: &Call<'_>, reading: &Reading<'_>) -> Result<(), Finding> {
    // The modules that `-MModule` and `-rlibrary` load are judged together with the code.
    let loaded = call
        .args
        .iter()
        .map(|arg| arg.text.as_str())
        .filter(|text| text.starts_with("-M") || text.starts_with("-r"));
    let modules = loaded.collect::<Vec<_>>().join(" ");
    let mut found = call.args.iter().any(|arg| arg.text.starts_with("-m") || arg.text.starts_with("-S"));
    let operands = || reading.kinds().filter(|(_, kind)| *kind == Some(Kind::Code)).map(|(arg, _)| arg);
    for code in reading.values(Kind::Code).chain(operands()) {
        found = true;
        not_from_elsewhere(code)?;
        if call.program == "expect" {
            spawned(judge, &code.text)?;
        }
        scan(&code.text)?;
        if !modules.is_empty() {
            scan(&format!("{modules}; {}", code.text))?;
        }
    }
    let spoken =
        reading.kinds().filter(|(arg, kind)| *kind == Some(Kind::Escapes) && arg.text.contains(['(', ' ']));
    for text in reading.values(Kind::Escapes).chain(spoken.map(|(arg, _)| arg)) {
        not_from_elsewhere(text)?;
        scan(&text.text)?;
    }
    let scripts = reading.kinds().filter(|(_, kind)| *kind == Some(Kind::Script)).map(|(arg, _)| arg);
    // If an option contains the code, the operands are arguments of the code.
    let coded = found;
    let scripts = scripts.filter(move |_| !coded).chain(reading.values(Kind::Script));
    let mut piped = false;
    for script in scripts {
        if matches!(script.text.as_str(), "-" | "/dev/stdin" | "/dev/fd/0") {
            piped = true;
            continue;
        }
        found = true;
        if script.marks.has(Marks::FETCHED) || is_remote(&script.text) && call.program != "deno" {
            return Err(refuse(REFUSE_DOWNLOAD));
        }
        if script.marks.has(Marks::PROCESS) {
            return Err(refuse(REFUSE_UNDECIDABLE));
        }
        written_code(judge, script)?;
    }
    let reads_code = piped || reading.program.input == Some(Kind::Code);
    if (found && !piped) || !call.input.is_fed() || !reads_code {
        return Ok(());
    }
    match &call.input.text {
        _ if call.input.marks.has(Marks::FETCHED) || call.input.marks.has(Marks::CRAFTED) => {
            Err(refuse(REFUSE_DOWNLOAD))
        }
        Text::Known(text) => scan(text),
        Text::Unknown => Err(refuse(REFUSE_UNDECIDABLE)),
        Text::Absent => Ok(()),
    }
}

/// Returns whether the script is an address, from which its code is fetched.
fn is_remote(script: &str) -> bool {
    let lower = script.to_ascii_lowercase();
    ["http://", "https://", "ftp://"].iter().any(|scheme| lower.starts_with(scheme))
}

/// Judges the commands that a script of expect spawns or executes.
fn spawned(judge: &mut Judge<'_>, script: &str) -> Result<(), Finding> {
    for statement in script.split([';', '\n', '[', ']']) {
        let words = statement.trim_start();
        let command = words.strip_prefix("spawn ").or_else(|| words.strip_prefix("exec "));
        let Some(command) = command else { continue };
        if is_bare_shell(command) {
            return Err(refuse(REFUSE_CODE));
        }
        judge.text(command, &Flow::default())?;
    }
    Ok(())
}

fn is_written(judge: &Judge<'_>, arg: &Arg) -> bool {
    judge.files.contains_key(&file_key(&arg.text))
}

/// Judges running a file of code. Text that was written into it before is scanned as code.
fn written_code(judge: &mut Judge<'_>, file: &Arg) -> Result<(), Finding> {
    match judge.files.get(&file_key(&file.text)) {
        Some(Flow { text: Text::Known(text), marks })
            if !marks.has(Marks::FETCHED) && !marks.has(Marks::CRAFTED) =>
        {
            scan(text)
        }
        _ => run_file(judge, file),
    }
}

fn not_from_elsewhere(code: &Arg) -> Result<(), Finding> {
    if code.marks.has(Marks::FETCHED) {
        return Err(refuse(REFUSE_DOWNLOAD));
    }
    let only_hole = code.text.trim().chars().all(|c| c == HOLE);
    if code.text.contains(HOLE) && (code.marks.has(Marks::CRAFTED) || only_hole) {
        return Err(refuse(REFUSE_UNDECIDABLE));
    }
    Ok(())
}

/// Refuses code in any language that runs programs, opens sockets, deletes files or reads secrets.
pub(super) fn scan(code: &str) -> Result<(), Finding> {
    if NETWORK.is_match(code) || is_network_device(code) {
        return Err(refuse(REFUSE_REVERSE_SHELL));
    }
    if REMOTE.is_match(code) {
        return Err(refuse(REFUSE_DOWNLOAD));
    }
    if DANGEROUS.is_match(code) {
        return Err(refuse(REFUSE_CODE));
    }
    for quoted in QUOTED.find_iter(code) {
        let text = quoted.as_str().trim_matches(['"', '\'']);
        if text.starts_with(['/', '~', '.']) && Place::new(text, "").is_secret() {
            return Err(refuse(REFUSE_SECRET));
        }
        if address_of_metadata(text, false) {
            return Err(refuse(REFUSE_METADATA));
        }
    }
    if WRITES.captures_iter(code).any(|found| {
        found.get(1).is_some_and(|path| {
            let place = Place::new(path.as_str(), "");
            place.is_system() || place.runs_later()
        })
    }) {
        return Err(refuse(REFUSE_CODE));
    }
    Ok(())
}

/// Judges the code of awk. In awk, running texts as commands is common and harmless, so they are judged as far as they
/// are written out.
fn awk(judge: &mut Judge<'_>, call: &Call<'_>) -> Result<(), Finding> {
    for arg in call.args {
        let text = arg.text.as_str();
        if NETWORK.is_match(text) || is_network_device(text) {
            return Err(refuse(REFUSE_REVERSE_SHELL));
        }
        if !text.contains(['{', '(', '|']) {
            continue;
        }
        for file in AWK_WRITES.captures_iter(text).filter_map(|found| found.get(1)) {
            super::argv::check_output(&Arg::new(file.as_str()), &call.files)?;
        }
        for run in AWK_RUNS.captures_iter(text) {
            let expression =
                run.get(1).or_else(|| run.get(2)).or_else(|| run.get(3)).map_or("", |m| m.as_str());
            let command = joined(expression);
            // Listing the accounts does not need awk, so doing it this way is a disguise.
            let detour = command.split_whitespace().any(|word| call.place(word).is_accounts());
            if detour || is_bare_shell(&command) {
                return Err(refuse(REFUSE_CODE));
            }
            if command.trim_start().starts_with(HOLE) {
                assigned(judge, text)?;
            } else {
                judge.text(&command, &Flow::default())?;
            }
        }
        if AWK_RUNS_VARIABLE.is_match(text) {
            assigned(judge, text)?;
        }
    }
    Ok(())
}

/// Judges the texts that are assigned in an awk program, in place of a variable that the program runs.
fn assigned(judge: &mut Judge<'_>, program: &str) -> Result<(), Finding> {
    let mut found = false;
    for value in AWK_ASSIGNS.captures_iter(program) {
        found = true;
        let command = joined(value.get(1).map_or("", |m| m.as_str()));
        match judge.text(&command, &Flow::default()) {
            // Not every assigned text is the command that is run.
            Err(finding) if finding.rule != REFUSE_UNDECIDABLE.0 => return Err(finding),
            _ => {}
        }
    }
    if found { Ok(()) } else { Err(refuse(REFUSE_UNDECIDABLE)) }
}

/// Returns the text of an awk expression: its literals, with holes for everything else.
fn joined(expression: &str) -> String {
    let mut text = String::new();
    let mut last = 0;
    for literal in QUOTED.find_iter(expression) {
        if !expression[last..literal.start()].trim().is_empty() {
            text.push(HOLE);
        }
        let inner = literal.as_str();
        text.push_str(&inner[1..inner.len() - 1].replace("\\\"", "\"").replace("\\\\", "\\"));
        last = literal.end();
    }
    if !expression[last..].trim().is_empty() {
        text.push(HOLE);
    }
    text
}

/// Judges the scripts of GNU sed, which run the command behind `e` and the result of `s///e`, and can write files.
fn sed(judge: &mut Judge<'_>, call: &Call<'_>, reading: &Reading<'_>) -> Result<(), Finding> {
    let given = reading.given.iter().filter(|given| matches!(given.name, "-e" | "--expression"));
    let mut scripts: Vec<&str> = given.map(|given| given.value.text.as_str()).collect();
    let files: Vec<&Arg> = reading.values(Kind::Script).collect();
    if scripts.is_empty() && files.is_empty() {
        scripts.extend(reading.operands.first().map(|arg| arg.text.as_str()));
    }
    if let (Text::Known(text), true) =
        (&call.input.text, files.iter().any(|file| matches!(file.text.as_str(), "-" | "/dev/stdin")))
    {
        scripts.push(text);
    }
    for effect in scripts.iter().flat_map(|script| effects(script)) {
        match effect {
            Effect::Runs(None) => return Err(refuse(REFUSE_CODE)),
            Effect::Runs(Some(command)) => {
                judge.text(command, &Flow::default())?;
                return Err(refuse(REFUSE_CODE));
            }
            Effect::Writes(file) => super::argv::check_output(&Arg::new(file), &call.files)?,
        }
    }
    Ok(())
}

/// Code that connects a socket.
static NETWORK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\.connect(_ex)?\s*\(|create_connection|dup2|\bpty\b|TCPSocket|UDPSocket|IO::Socket|use\s+Socket|fsockopen|",
        r"stream_socket|createConnection|net\.(?:Socket|connect|createServer)|require\(?\s*['\x22]net['\x22]|socket\.tcp|",
        r"require\(?['\x22]socket|\bsocket\s*\(\s*S|TCPServer|net\.Dial|-rsocket|\[\s*socket\s+[\w.]+\s+\d|\bsocket\s+-async|open\s*\(?\s*STDIN|java\.net\.Socket",
    ))
});

/// Code that runs what it fetches or decodes.
static REMOTE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?is)-MLWP.*\beval\b|\bfetch\s*\(.*\.then\s*\(\s*eval\b|-ropen-uri.*\beval\b|\b(?:exec|eval|compile|instance_eval|loadstring|load|Function|include|require|assert|import_string)\b\s*\(?.*",
        r"(?:urlopen|urllib|requests\.|https?://|open-uri|base64|b64decode|decode64|fromhex|unhexlify|atob|pack\s*\(|",
        r"file_get_contents|codecs|marshal|zlib|LWP|fetch\s*\(|Net::HTTP|chr\s*\(|\[::-1\]|rot_?13)",
    ))
});

/// Code that runs programs, deletes files, or changes its user.
static DANGEROUS: LazyLock<RegexSet> = LazyLock::new(|| {
    patterns([
        r"(?i)\bos\s*\.\s*(?:system|popen|exec\w*|spawn\w*|fork|kill|setuid|setgid|remove|unlink|rmdir|removedirs|chmod|chown)\b",
        r"(?i)\b(?:subprocess|commands|shutil\s*\.\s*(?:rmtree|move)|rmtree|ctypes|posix_spawn|pexpect|multiprocessing)\b",
        r"from\s+os\s+import|from\s+shutil\s+import|__import__|__builtins__|__subclasses__|getattr\s*\(\s*(?:os|__)|importlib",
        r"(?i)\bchild_process|execSync|spawnSync|execFile|process\s*\.\s*(?:binding|kill|mainModule)|\bDeno\.(?:run|Command|remove)|\bsys\.process\b|[\x22']\.execute\s*\(\s*\)|\bos:cmd\b|\bdelete-(?:directory|file)\b|\bexec\s*\{|\bBun\.(?:spawn\w*|\$|file\s*\([^)]*\)\.delete)",
        r"(?i)\b(?:unlinkSync|rmSync|rmdirSync|fs\s*\.\s*(?:rm|rmdir|unlink)|fs/promises|FileUtils\s*\.\s*(?:rm|remove)\w*)",
        r"(?i)\b(?:shell_exec|passthru|proc_open|popen|pcntl_\w+|phpinfo)\b|\bsystem\s*[('\x22\s{]|\bKernel\s*\.|\bIO\s*\.\s*popen|%x[\[{(|!/]|\bqx\b",
        r"(?i)\b(?:exec|spawn)\s*(?:\(\s*)?['\x22$@]|`[^`]+`|\bexec\s*\(|\bfork\b",
        r"(?i)\bunlink\b|\bFile\s*\.\s*(?:delete|unlink)|\bDir\s*\.\s*(?:rmdir|delete|unlink)|\bos\s*\.\s*execute|\bio\s*\.\s*popen",
        r"(?i)Runtime\s*\.\s*getRuntime|ProcessBuilder|do shell script|\bsetuid\b|\bsetreuid\b|\bPOSIX::|\$<\s*=|\$>\s*=\s*0",
        r"(?i)\bCOPY\b.*\b(?:FROM|TO)\s+PROGRAM\b|\bINTO\s+(?:OUTFILE|DUMPFILE)\b|sys_exec|xp_cmdshell|load_extension|shell-command|call-process",
        r"(?i)\.rmtree\b|\bremove_tree\b|\brm\s*\([^)]*recursive|\bexec\s+(?:/\S*/)?(?:rm|sh|bash|curl|wget|nc|dd)\b|pathlib.*\.unlink|\.unlink\s*\(|\beval\s*\(\s*(?:input|STDIN|\$_|sys\.|process\.)",
        r"(?i)\((?:ansi-)?term\b|\((?:e?shell|async-shell-command|start-process|make-process|compile)\b|System\.Process|callCommand|\bsh\s*\(?\s*['\x22]",
        r"(?i)^\s*(?:shell|!)|\bpython\s+import\s+os|\bspawn\s+(?:/bin/)?(?:sh|bash|ssh|su|sudo)\b",
    ])
});

static QUOTED: LazyLock<Regex> = LazyLock::new(|| pattern(r#""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"#));

/// Code that opens a file for writing.
static WRITES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)(?:open|write_text|writeFileSync|writeFile|file_put_contents|File\.write)\s*\(?\s*["']>{0,2}\s*([^"']+)["']"#,
    )
});

static AWK_RUNS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"\bsystem\s*\(((?:"(?:[^"\\]|\\.)*"|[^()"]|\([^()]*\))*)\)|"#,
        r#"((?:"(?:[^"\\]|\\.)*"\s*[\w$.]*\s*)+)\)?\s*\|&?\s*getline|"#,
        r#"\bprintf?\b[^|;}]*\|&?\s*((?:"(?:[^"\\]|\\.)*"\s*[\w$.]*\s*)+)"#,
    ))
});

/// A file that awk prints to.
static AWK_WRITES: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\bprintf?\b[^;}]*>\s*"([^"]+)""#));

static AWK_RUNS_VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[{;(]\s*[A-Za-z_]\w*\s*\|&?\s*getline|\bprintf?\b[^|;}]*[^|]\|&?\s*[A-Za-z_]")
});

static AWK_ASSIGNS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"[^=!<>]=\s*((?:"(?:[^"\\]|\\.)*"\s*[\w$.]*\s*)+)"#));
