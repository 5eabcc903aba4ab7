//! Modules that no code may import, and what of them it may use all the same.

/// Modules that start processes, load foreign code, reach into the interpreter or talk to the network below HTTP.
pub(in crate::code_safety) const BLOCKED_MODULES: &str = "\
    subprocess shutil socket socketserver ctypes _ctypes cffi pty code codeop pickle _pickle cPickle \
    cloudpickle dill jsonpickle marshal shelve builtins __builtin__ __main__ importlib _frozen_importlib \
    _frozen_importlib_external imp _imp runpy pkgutil zipimport multiprocessing _posixsubprocess posix nt \
    _winapi _thread gc antigravity commands popen2 telnetlib ftplib smtplib poplib imaplib nntplib smtpd \
    asyncore asynchat xmlrpc http.server wsgiref cgitb pdb bdb trace faulthandler tracemalloc \
    idlelib distutils setuptools pip ensurepip venv site sitecustomize usercustomize webbrowser msvcrt \
    winreg crypt spwd pwd grp nis syslog resource mmap fcntl termios tty asyncio.subprocess \
    asyncio.unix_events asyncio.base_subprocess logging.config multiprocess joblib paramiko fabric pexpect \
    sh plumbum invoke psutil scapy nmap impacket pwn pwnlib pyautogui pynput doctest profile cProfile timeit \
    numpy.f2py numpy.distutils numpy.ctypeslib torch.utils.cpp_extension ossaudiodev _io _osx_support \
    lib2to3 pydoc pipes rlcompleter cmd opcode _xxsubinterpreters _interpreters interpreters test turtledemo \
    this __phello__";

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
