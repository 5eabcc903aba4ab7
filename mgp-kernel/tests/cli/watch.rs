//! `mgp watch`, as a person at a terminal uses it.

use crate::home::{Home, Ran};
use crate::kernel::Kernel;
use crate::page::with_passphrase;
use crate::people::home_with_notes;

/// Runs the command in a terminal of 120 by 40 letters, types what belongs to each text once the screen shows it, again and
/// again until the screen shows the next one, and prints the screen as it was at each of these moments.
const PERSON: &str = r#"
import fcntl, os, pty, re, select, struct, sys, termios, time
steps = [step.split("=>") for step in sys.argv[1].split("|")]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
screen, row, column = [[" "] * 120 for _ in range(40)], 0, 0
text, key, shown, end = "", b"", "", time.monotonic() + 60
while time.monotonic() < end:
    if not select.select([terminal], [], [], 0.7)[0]:
        os.write(terminal, key)
        continue
    try:
        read = os.read(terminal, 1 << 20)
    except OSError:
        break
    if not read:
        break
    text += read.decode(errors="replace")
    while text:
        order = re.match(r"\x1b\[([0-9;?]*)([A-Za-z])", text)
        if not order and text[0] == "\x1b" and len(text) < 24:
            break
        if order and order[2] == "H" and order[1]:
            row, column = [int(place) - 1 for place in order[1].split(";")]
        elif order and (order[2] == "J" or order[1] == "?1049"):
            screen = [[" "] * 120 for _ in range(40)]
        elif not order and text[0] >= " " and row < 40 and column < 120:
            screen[row][column] = text[0]
            column += 1
        text = text[order.end() if order else 1:]
    shown = "\n".join("".join(line) for line in screen)
    if steps and steps[0][0] in shown:
        print(shown)
        key = steps.pop(0)[1].encode()
        os.write(terminal, key)
if steps:
    os.kill(child, 9)
    print(shown)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.exit(99 if steps else status)
"#;

/// Has a person watch the one question that waits, who takes these steps. Returns its id, and what the person saw.
#[cfg(unix)]
fn watched(home: &Home, steps: impl FnOnce(&str) -> String, has_token: bool) -> (String, Ran) {
    let mut call = home.command(["call", "notes.remove_note", "number=1"]);
    call.env_remove("MGP_OPERATORS_TOKEN");
    assert_eq!(Home::ran(call, "").code, Some(6));
    let id = home.json(["permissions", "pending"])["questions"][0]["id"].as_str().unwrap().to_owned();
    let watch = home.command(["watch"]);
    let mut person = std::process::Command::new("python3");
    person.args(["-c", PERSON, &steps(&id)]);
    person.arg(watch.get_program()).args(watch.get_args()).current_dir(home.path(""));
    person.env_clear().env("TERM", "xterm-256color").env("PATH", std::env::var_os("PATH").unwrap());
    person.envs(watch.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if !has_token {
        person.env_remove("MGP_OPERATORS_TOKEN");
    }
    (id, Home::ran(person, ""))
}

#[cfg(unix)]
#[test]
fn a_dangerous_question_is_answered_with_one_key_that_is_not_the_usual_one() {
    let home = home_with_notes("");
    let (_kernel, _) = Kernel::on_http(&home);
    let steps = |id: &str| format!("1 waits for you=>y|Y approves it=>Y|{id} approved=>q");
    let (id, ran) = watched(&home, steps, true);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for text in ["Servers", "notes.remove_note", "number", "Record", "Nothing waits for you"] {
        assert!(ran.out.contains(text), "{text}: {ran:?}");
    }
    assert_eq!(home.json(["permissions", "show", &id])["decision"], "approved");
}

#[cfg(unix)]
#[test]
fn whoever_denies_needs_no_passphrase() {
    let home = home_with_notes("");
    let (_kernel, _) = Kernel::on_http(&home);
    with_passphrase(&home);
    let (id, ran) = watched(&home, |id| format!("1 waits for you=>n|{id} denied=>q"), false);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(home.json(["permissions", "show", &id])["decision"], "denied");
}

#[test]
fn without_a_terminal_it_says_what_else_there_is() {
    let home = home_with_notes("");
    let (_kernel, _) = Kernel::on_http(&home);
    let ran = home.run(["watch"]);
    assert!(ran.code == Some(1) && ran.err.contains("`mgp ui` opens a page"), "{ran:?}");
}
