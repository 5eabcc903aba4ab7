//! Modules that no code may import, and what of them it may use all the same.

use super::standard::{CONNECTS, DEFERS, REACHES, RUNS, SPIES, WRITES};

/// Modules that no code may import, by what they do.
pub(in crate::code_safety) const BLOCKED_MODULES: &[&str] =
    &[RUNS, REACHES, CONNECTS, WRITES, DEFERS, SPIES, FOREIGN];

/// Packages that start programs, load objects from files, or drive other machines or this one.
const FOREIGN: &str = "\
    cffi cloudpickle dill jsonpickle multiprocess joblib paramiko fabric pexpect sh plumbum invoke psutil scapy \
    nmap impacket pwn pwnlib pyautogui pynput numpy.f2py numpy.distutils numpy.ctypeslib \
    torch.utils.cpp_extension pycurl zmq nest_asyncio docker kubernetes ansible keyring browser_cookie3 mss pyperclip";

/// Parts of blocked modules that only read what was installed, what is on the machine, or what they are given.
pub(in crate::code_safety) const EXEMPT_MODULES: &[&str] = &[
    "importlib.metadata",
    "importlib.resources",
    "importlib.util.find_spec",
    "importlib.util.MAGIC_NUMBER",
    "importlib.util.cache_from_source",
    "importlib.util.source_from_cache",
    "_thread.get_ident",
    "_thread.allocate_lock",
    "_thread.RLock",
    "_thread.LockType",
    "pwd.getpwnam",
    "pwd.getpwuid",
    "grp.getgrnam",
    "grp.getgrgid",
    "shutil.which",
    "shutil.get_terminal_size",
    "shutil.copyfileobj",
    "shutil.disk_usage",
    "shutil.copy",
    "shutil.copy2",
    "shutil.copyfile",
    "shutil.copymode",
    "shutil.copystat",
    "shutil.copytree",
    "shutil.ignore_patterns",
    "shutil.move",
    "shutil.Error",
    "shutil.SameFileError",
    "winreg.OpenKey",
    "winreg.OpenKeyEx",
    "winreg.CloseKey",
    "winreg.ConnectRegistry",
    "winreg.QueryValue",
    "winreg.QueryValueEx",
    "winreg.QueryInfoKey",
    "winreg.EnumKey",
    "winreg.EnumValue",
    "winreg.ExpandEnvironmentStrings",
    "winreg.HKEY_CLASSES_ROOT",
    "winreg.HKEY_CURRENT_USER",
    "winreg.HKEY_LOCAL_MACHINE",
    "winreg.KEY_READ",
    "winreg.REG_SZ",
];

/// Blocked modules whose import alone is no offence, for every use of a part that is not exempt is found by itself.
pub(in crate::code_safety) const BLOCKED_IN_PARTS: &[&str] =
    &["_thread", "grp", "importlib", "importlib.util", "pwd", "shutil", "winreg"];
