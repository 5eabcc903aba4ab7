//! The rules about deleting: whole trees in any notation, and work under version control.

use crate::Finding;

use super::super::CommandPolicy;
use super::super::finding::{
    REFUSE_DESTRUCTION, REFUSE_DEVICE, REFUSE_LOG, REFUSE_LOST_WORK, REFUSE_RECURSIVE_DELETE,
    REFUSE_SYSTEM_PATH, REFUSE_UNDECIDABLE, refuse,
};
use super::super::place::Place;
use super::super::value::{Arg, HOLE, Marks};
use super::Call;

pub(super) fn check(call: &Call<'_>, policy: &CommandPolicy) -> Result<(), Finding> {
    match call.program {
        "rm" | "unlink" | "srm" | "shred" | "wipe" | "rmdir" | "trash" | "gio" | "rimraf" | "del-cli"
        | "remove_directory"
            if deletes(call) =>
        {
            remove(call, policy)
        }
        "find" | "fd" | "fdfind" if call.has("-delete") => found(call, policy),
        "truncate" | "cp"
            if call.operands().next_back().is_some_and(|arg| arg.marks.has(Marks::EVERYTHING)) =>
        {
            Err(refuse(REFUSE_RECURSIVE_DELETE))
        }
        "rsync" | "rclone" => mirror(call),
        "git" if call.verb() == "clean" => {
            let outside = call.operands().skip(1).any(|arg| {
                let place = call.place(&arg.text);
                place.is_vast() || place.climbs()
            });
            if outside { Err(refuse(REFUSE_RECURSIVE_DELETE)) } else { Ok(()) }
        }
        "mv" => {
            let mut operands = call.operands();
            let last = operands.next_back();
            let vanishes = last.is_some_and(|arg| arg.text.starts_with("/dev/null"));
            if vanishes || operands.any(|arg| !arg.text.contains(HOLE) && call.place(&arg.text).is_vast()) {
                return Err(refuse(REFUSE_RECURSIVE_DELETE));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Judges `find .. -delete`.
fn found(call: &Call<'_>, policy: &CommandPolicy) -> Result<(), Finding> {
    let in_system = |root: &Arg| {
        let place = call.place(&root.text);
        place.is_system() && place.as_str() != "/"
    };
    if is_unfiltered(call) && !(policy.named_trees && is_below_here(call)) {
        return Err(refuse(REFUSE_RECURSIVE_DELETE));
    }
    if roots(call).any(in_system) || (roots(call).next().is_none() && in_system(&Arg::new("."))) {
        return Err(refuse(REFUSE_SYSTEM_PATH));
    }
    Ok(())
}

/// Returns the paths at which a `find` begins.
fn roots<'a>(call: &Call<'a>) -> impl Iterator<Item = &'a Arg> + use<'a> {
    call.args.iter().take_while(|arg| !arg.text.starts_with(['-', '(', '!']))
}

/// Returns whether a `find` begins in a place with keys.
pub(in super::super) fn begins_in_secret(call: &Call<'_>) -> bool {
    roots(call).any(|root| call.place(&root.text).is_secret())
}

/// Returns whether a `find` begins only in directories that may be deleted as a whole.
pub(in super::super) fn is_below_here(call: &Call<'_>) -> bool {
    roots(call).next().is_some() && roots(call).all(|root| root.is_known() && is_own(&call.place(&root.text)))
}

/// Returns whether the files that a `find` selects may be deleted with all their content, because they lie in no vast
/// or foreign place.
pub(in super::super) fn chooses_here(call: &Call<'_>) -> bool {
    !is_unfiltered(call)
        && roots(call).all(|root| {
            let place = call.place(&root.text);
            root.is_known() && !place.is_vast() && !place.is_system() && !place.climbs()
        })
        && !call.place(".").is_vast()
}

/// Returns whether a `find` selects only names that a build or an installation creates again, in a place where deleting
/// is allowed.
pub(in super::super) fn chooses_rebuilt(call: &Call<'_>) -> bool {
    let mut names =
        call.args.windows(2).filter(|two| matches!(two[0].text.as_str(), "-name" | "-iname")).peekable();
    names.peek().is_some()
        && chooses_here(call)
        && !call.args.iter().any(|arg| matches!(arg.text.as_str(), "!" | "-not"))
        && names.all(|two| Place::new(&two[1].text, "").is_rebuilt())
}

/// Returns whether the place is a named tree below the working directory, or one that programs can fill again.
fn is_own(place: &Place) -> bool {
    place.is_below_here() || place.is_refillable()
}

/// Returns whether a `find` selects all files of a tree: no test restricts the selection, or the tree is too large for
/// a weak test.
pub(in super::super) fn is_unfiltered(call: &Call<'_>) -> bool {
    let roots: Vec<&str> = roots(call).map(|arg| arg.text.as_str()).collect();
    let vast = roots.iter().any(|root| call.place(root).is_vast())
        || (roots.is_empty() && call.place(".").is_vast());
    let mut args = call.args.iter().map(|arg| arg.text.as_str()).peekable();
    let mut negated = false;
    while let Some(test) = args.next() {
        if matches!(test, "!" | "-not") {
            negated = true;
            continue;
        }
        let value = args.peek().copied().unwrap_or("");
        if matches!(test, "-exec" | "-execdir" | "-ok" | "-okdir") && !matches!(value, "test" | "[" | "grep")
        {
            break;
        }
        let narrow = match test {
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex" | "-iregex" => {
                !value.chars().all(|c| "*.?/+".contains(c))
            }
            "-exec" | "-inum" | "-samefile" | "-empty" | "-newer" | "-lname" | "-xtype" => true,
            "-mtime" | "-atime" | "-ctime" | "-mmin" | "-amin" | "-cmin" | "-size" | "-user" | "-group"
            | "-perm" | "-nouser" | "-nogroup" | "-newermt" | "-anewer" | "-cnewer" | "-uid" | "-gid"
            | "-links" => !vast,
            // Deleting links only removes names.
            "-type" => value == "l",
            "-maxdepth" => value == "0" || (value == "1" && !vast),
            _ => false,
        };
        if narrow && !(negated && vast) {
            return false;
        }
        negated = false;
    }
    // `fd pattern` selects by its first operand.
    !(matches!(call.program, "fd" | "fdfind") && call.operands().next().is_some_and(|arg| arg.text != "."))
}

/// Returns whether a `find` looks for keys, tokens or passwords by their names.
pub(in super::super) fn looks_for_secrets(call: &Call<'_>) -> bool {
    call.args.windows(2).any(|two| {
        let name = two[1].text.as_str();
        matches!(two[0].text.as_str(), "-name" | "-iname" | "-path" | "-wholename")
            && (matches!(
                name,
                "*.pem"
                    | "*.key"
                    | "id_*"
                    | "id_rsa*"
                    | "*credentials*"
                    | "shadow"
                    | "*_rsa"
                    | "*.kdbx"
                    | ".env*"
                    | "*.env"
            ) || call.place(&format!("~/.ssh/{name}")).is_secret()
                && name.starts_with("id_")
                && !name.ends_with("pub")
                || super::super::place::Place::new(name, "").is_secret())
    })
}

fn deletes(call: &Call<'_>) -> bool {
    match call.program {
        "gio" => call.verb() == "trash",
        "rmdir" => call.args.iter().any(|arg| call.place(&arg.text).is_system()),
        "trash" => call.operands().any(|arg| call.place(&arg.text).is_vast()),
        _ => true,
    }
}

fn remove(call: &Call<'_>, policy: &CommandPolicy) -> Result<(), Finding> {
    if call.args.iter().any(|arg| matches!(arg.text.as_str(), "--help" | "--version")) {
        return Ok(());
    }
    for arg in call.args {
        let place = call.place(&arg.text);
        if place.is_device() {
            return Err(refuse(REFUSE_DEVICE));
        }
        if arg.is_option() && arg.text.contains(HOLE) {
            return Err(refuse(REFUSE_UNDECIDABLE));
        }
        if place.is_log() {
            return Err(refuse(REFUSE_LOG));
        }
        if arg.marks.has(Marks::EVERYTHING) || (place.is_vast() && !arg.is_option() && !is_own(&place)) {
            return Err(refuse(REFUSE_RECURSIVE_DELETE));
        }
        if place.is_system() {
            return Err(refuse(REFUSE_SYSTEM_PATH));
        }
        // Overwritten files cannot be recovered, and there is seldom a second copy of a key.
        let outside = place.as_str().starts_with('~') || place.climbs();
        if !arg.is_option() && outside && (overwrites(call.program) || place.is_secret()) {
            return Err(refuse(REFUSE_DESTRUCTION));
        }
    }
    let whole = matches!(call.program, "rimraf" | "del-cli" | "remove_directory");
    let recursive = whole
        || call.flag('r', "recursive")
        || call.flag('R', "recursive")
        || call.flag('\0', "no-preserve-root");
    let own = |arg: &Arg| {
        let place = call.place(&arg.text);
        let chosen = arg.marks.has(Marks::CHOSEN) && arg.text == "\0";
        let named = chosen || (!arg.text.contains(HOLE) && is_own(&place));
        (policy.named_trees && named)
            || is_rebuilt(call, arg)
            || (arg.is_known() && policy.is_scratch(place.as_str()))
    };
    if recursive
        && (whole || matches!(call.program, "rm" | "srm" | "wipe"))
        && !(call.operands().next().is_some() && call.operands().all(own))
    {
        return Err(refuse(REFUSE_RECURSIVE_DELETE));
    }
    Ok(())
}

fn overwrites(program: &str) -> bool {
    matches!(program, "shred" | "srm" | "wipe")
}

/// Returns whether the argument is a tree below the working directory that a build or an installation creates again.
fn is_rebuilt(call: &Call<'_>, arg: &Arg) -> bool {
    if arg.marks.has(Marks::REBUILT) && arg.text == "\0" {
        return true;
    }
    let here = Place::new(call.directory, "");
    arg.text.split(HOLE).count() == 1
        && Place::new(&arg.text, "").is_rebuilt()
        && (call.directory.is_empty() || !(here.is_vast() || here.is_system()))
        && !call.directory.contains(HOLE)
}

/// Judges a mirroring copy, which deletes files in the target that the source does not have.
fn mirror(call: &Call<'_>) -> Result<(), Finding> {
    let deleting =
        call.args.iter().any(|arg| arg.text.starts_with("--del") || arg.text == "--remove-source-files")
            || matches!(call.verb(), "purge" | "delete");
    let target = call.operands().next_back();
    if deleting && target.is_some_and(|arg| arg.is_known() && call.place(&arg.text).is_vast()) {
        return Err(refuse(REFUSE_RECURSIVE_DELETE));
    }
    Ok(())
}

/// Judges the commands of git that throw work away by more than one argument. The single options that do so are in the
/// table.
pub(super) fn check_lost_work(call: &Call<'_>) -> Result<(), Finding> {
    if !matches!(call.program, "git" | "yadm" | "dotfiles") {
        return Ok(());
    }
    let words: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    let Some(at) = words.iter().position(|word| VERBS.contains(word)) else { return Ok(()) };
    let (verb, rest) = (words[at], &words[at + 1..]);
    let any = |texts: &[&str]| rest.iter().any(|word| texts.contains(word));
    let cluster = |letter: char| {
        rest.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    let everything = || any(&[".", ":/", "*", "./", ":"]);
    let lost = match verb {
        "checkout" => everything() || (any(&["--force"]) || cluster('f')),
        "restore" => everything() && (!any(&["--staged", "-S"]) || any(&["--worktree", "-W"])),
        "switch" => any(&["--discard-changes", "--force", "-f"]),
        "clean" => {
            cluster('x') && (cluster('f') || any(&["--force"])) && !cluster('n') && !any(&["--dry-run"])
        }
        "branch" => (cluster('D') || (any(&["--delete", "-d"]) && any(&["--force", "-f"]))) && any(&MAIN),
        "push" => {
            rest.iter().any(|word| {
                word.strip_prefix(['+', ':']).is_some_and(|name| !name.is_empty())
                    && word.len() > 1
                    && (word.starts_with('+') || MAIN.contains(&&word[1..]))
            }) || (any(&["--delete", "-d"]) && any(&MAIN))
        }
        "rm" => everything() && cluster('r') && !any(&["--cached"]),
        _ => false,
    };
    if lost { Err(refuse(REFUSE_LOST_WORK)) } else { Ok(()) }
}

const VERBS: [&str; 7] = ["checkout", "restore", "switch", "clean", "branch", "push", "rm"];

const MAIN: [&str; 5] = ["main", "master", "develop", "trunk", "production"];
