//! Differences between two texts, in the form of `diff -u`.

use std::{fmt::Write as _, path::Path};

/// Returns the difference between two texts in the form of `diff -u`; empty if the texts are the same.
pub(super) fn unified(path: &Path, before: &str, after: &str) -> String {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    let steps = steps(&old, &new);
    if steps.iter().all(|step| matches!(step, DiffLine::Same(_))) {
        return String::new();
    }
    let mut out = String::new();
    let path = path.display();
    // Writing to a `String` does not fail.
    let _ = writeln!(out, "--- {path}\n+++ {path}");
    for hunk in hunks(&steps) {
        let passed = |steps: &[DiffLine<'_>]| {
            let old = steps.iter().filter(|step| !matches!(step, DiffLine::New(_))).count();
            let new = steps.iter().filter(|step| !matches!(step, DiffLine::Old(_))).count();
            (old, new)
        };
        let (old_before, new_before) = passed(&steps[..hunk.start]);
        let (old_len, new_len) = passed(&steps[hunk.clone()]);
        let start = |before: usize, len: usize| if len == 0 { before } else { before + 1 };
        let (old_start, new_start) = (start(old_before, old_len), start(new_before, new_len));
        let _ = writeln!(out, "@@ -{old_start},{old_len} +{new_start},{new_len} @@");
        for step in &steps[hunk] {
            let (sign, line) = match step {
                DiffLine::Same(line) => (' ', line),
                DiffLine::Old(line) => ('-', line),
                DiffLine::New(line) => ('+', line),
            };
            let _ = writeln!(out, "{sign}{line}");
        }
    }
    out
}

enum DiffLine<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let mut steps: Vec<DiffLine<'a>> = old[..head].iter().map(|line| DiffLine::Same(line)).collect();
    middle(old_middle, new_middle, &mut steps);
    steps.extend(old[old.len() - tail..].iter().map(|line| DiffLine::Same(line)));
    steps
}

const MAX_CELLS: usize = 4 << 20;

/// Adds the steps for lines that differ, along their longest common lines; all are added as changed where that would
/// take too long.
fn middle<'a>(old: &[&'a str], new: &[&'a str], steps: &mut Vec<DiffLine<'a>>) {
    let width = new.len() + 1;
    let (mut i, mut j) = (0, 0);
    if old.len().saturating_mul(new.len()) <= MAX_CELLS {
        let mut longest = vec![0_u32; (old.len() + 1) * width];
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                longest[i * width + j] = if old[i] == new[j] {
                    longest[(i + 1) * width + j + 1] + 1
                } else {
                    longest[(i + 1) * width + j].max(longest[i * width + j + 1])
                };
            }
        }
        while i < old.len() && j < new.len() {
            if old[i] == new[j] {
                steps.push(DiffLine::Same(old[i]));
                (i, j) = (i + 1, j + 1);
            } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
                steps.push(DiffLine::Old(old[i]));
                i += 1;
            } else {
                steps.push(DiffLine::New(new[j]));
                j += 1;
            }
        }
    }
    steps.extend(old[i..].iter().map(|line| DiffLine::Old(line)));
    steps.extend(new[j..].iter().map(|line| DiffLine::New(line)));
}

const AROUND: usize = 3;

/// Returns ranges of changes with the lines around them; ranges whose surroundings touch are one.
fn hunks(steps: &[DiffLine<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in steps.iter().enumerate().filter(|(_, step)| !matches!(step, DiffLine::Same(_))) {
        let range = at.saturating_sub(AROUND)..(at + AROUND + 1).min(steps.len());
        match hunks.last_mut() {
            Some(last) if range.start <= last.end => last.end = range.end,
            _ => hunks.push(range),
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_the_lines_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n";
        let expected = "--- f\n+++ f\n@@ -2,8 +2,9 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+10\n";
        assert_eq!(unified(Path::new("f"), before, after), expected);
        assert_eq!(unified(Path::new("f"), before, before), "");
        assert!(unified(Path::new("f"), "", "a\n").contains("@@ -0,0 +1,1 @@\n+a\n"));
    }
}
