//! Files that are written whole or not at all, survive a power loss, and are read within bounds.
//!
//! | function | promise |
//! |---|---|
//! | [`write_atomically`] | the file is old or new, never half, also after a power loss; a device, a pipe or a link is never replaced |
//! | [`write_new`] | the file is on the disk; for files in a folder that nobody sees yet |
//! | [`create_folder`], [`rename`] | the entry is on the disk |
//! | [`read`] | at most so many bytes, and only of a file: no pipe that never ends |
//!
//! What POSIX guarantees after a power loss: the contents of a file after `fsync` of the file, its name after `fsync` of the folder
//! (`fsync(2)`, Linux man-pages 6.9).

pub mod linker;
pub mod module;
pub mod text;
pub mod words;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use rustix::fs::OFlags;

/// The most that is read of a file unless its reader says otherwise: 64 MiB.
pub const MOST: u64 = 64 << 20;

/// tangle's cache folder: `$TANGLE_CACHE`, else `tangle` in `$XDG_CACHE_HOME` or `~/.cache`.
pub fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("TANGLE_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?.join("tangle")))
}

/// Ends the name of a file or folder that is being written beside its place.
const PARTIAL: &str = "partial";

/// Writes a file whole: beside its place, synced, renamed, its folder synced. What is no regular file is written to as it is (a
/// terminal, a pipe, `/dev/stdout`), and nothing is replaced by it.
///
/// # Errors
/// If it cannot be written, or is a symbolic link to a file, or a folder or block device. What was there before stays.
pub fn write_atomically(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    let written = match destination(path) {
        Ok(Destination::File) => replace(path, contents),
        Ok(Destination::Stdout) => io::stdout().lock().write_all(contents).and_then(|()| io::stdout().flush()),
        Ok(Destination::Stderr) => io::stderr().lock().write_all(contents),
        Ok(Destination::Stream) => OpenOptions::new().append(true).open(path).and_then(|mut to| to.write_all(contents)),
        Err(error) => Err(error),
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// What a path to write to stands for.
#[derive(Debug, PartialEq, Eq)]
enum Destination {
    /// A regular file, there or not.
    File,
    Stdout,
    Stderr,
    /// Something that takes bytes one after the other.
    Stream,
}

fn destination(path: &Path) -> io::Result<Destination> {
    match path.to_str() {
        Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => return Ok(Destination::Stdout),
        Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => return Ok(Destination::Stderr),
        Some(name) if name.starts_with("/dev/fd/") || name.starts_with("/proc/self/fd/") => {
            return Ok(Destination::Stream);
        }
        _ => {}
    }
    let is_link = match fs::symlink_metadata(path) {
        Ok(there) => there.is_symlink(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Destination::File),
        Err(error) => return Err(error),
    };
    let refused = |what: &str| Err(io::Error::other(format!("it is {what}")));
    let target = match fs::metadata(path) {
        Ok(target) => target.file_type(),
        Err(_) if is_link => return refused("a symbolic link to nothing"),
        Err(error) => return Err(error),
    };
    if target.is_fifo() || target.is_char_device() || target.is_socket() {
        Ok(Destination::Stream)
    } else if target.is_dir() {
        refused("a folder")
    } else if target.is_block_device() {
        refused("a block device")
    } else if is_link {
        refused("a symbolic link; name the file itself")
    } else {
        Ok(Destination::File)
    }
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let partial = partial(path);
    let written = write_new(&partial, contents).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // Best effort: the error that matters is the first one.
        let _ = fs::remove_file(&partial);
    }
    written.and_then(|()| sync_folder(parent(path)))
}

/// A name beside a path, for what is being written: hidden, of this process, used once.
pub fn partial(path: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}-{number}.{PARTIAL}", std::process::id()))
}

/// Removes what processes that are gone were writing in a folder when they ended.
pub fn remove_partials(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().and_then(writer).is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let path = entry.path();
            // What cannot be removed does no harm.
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

/// The process that wrote what has a name of [`partial`].
fn writer(name: &str) -> Option<&str> {
    let rest = name.strip_prefix('.')?.strip_suffix(PARTIAL)?.strip_suffix('.')?;
    let (pid, number) = rest.rsplit_once('.')?.1.split_once('-')?;
    (pid.parse::<u32>().is_ok() && number.parse::<u64>().is_ok()).then_some(pid)
}

/// Writes a file that is not there yet and syncs it; its name is for the caller to sync. A link of that name is not followed.
///
/// # Errors
/// If it cannot be written, or is there.
pub fn write_new(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

/// Makes a folder and those above it, and syncs their names.
///
/// # Errors
/// If one cannot be made.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = parent(path);
    if above != path {
        create_folder(above)?;
    }
    match fs::create_dir(path) {
        // Another thread made it.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_folder(above)
}

/// Renames a file or folder within a file system and syncs both folders. The contents are for the caller to sync.
///
/// # Errors
/// If it cannot be renamed.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(parent(to))?;
    if parent(from) == parent(to) { Ok(()) } else { sync_folder(parent(from)) }
}

/// Syncs the names in a folder.
///
/// # Errors
/// If it cannot be opened or synced. A file system that cannot sync folders is none: it keeps its own order.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => path,
    }
}

/// Reads a file of at most so many bytes.
///
/// # Errors
/// If it cannot be read, is larger, or is no regular file.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    let there = file.metadata()?;
    if there.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder"));
    }
    if !there.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let too_large = || io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MB", most >> 20));
    if there.len() > most {
        return Err(too_large());
    }
    let mut contents = Vec::with_capacity(there.len() as usize);
    // It may grow meanwhile.
    file.take(most + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 > most { Err(too_large()) } else { Ok(contents) }
}

/// Reads a text in UTF-8 of at most [`MOST`] bytes.
///
/// # Errors
/// As [`read`], and if it is no text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path, MOST)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

/// Bytes that a file or folder takes, with everything below it; nothing where it cannot be read.
pub fn size(path: &Path) -> u64 {
    let Ok(there) = fs::symlink_metadata(path) else { return 0 };
    let below = || fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum::<u64>();
    there.len() + if there.is_dir() { below() } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| place.path().join(name);
        fs::write(at("old"), "old").expect("it is ours");
        fs::create_dir(at("folder")).expect("it is ours");
        for (link, to) in [("to-file", "old"), ("to-nothing", "gone"), ("to-device", "/dev/null")] {
            symlink(to, at(link)).expect("it is ours");
        }
        let table = [
            ("old", None),
            ("new", None),
            ("to-device", None),
            ("to-file", Some("symbolic link; name the file itself")),
            ("to-nothing", Some("symbolic link to nothing")),
            ("folder", Some("a folder")),
        ];
        for (name, error) in table {
            let written = write_atomically(&at(name), b"new").map_err(|error| format!("{error:#}"));
            match error {
                None => assert_eq!(written, Ok(()), "{name}"),
                Some(part) => {
                    let error = written.expect_err(name);
                    assert!(error.contains(part) && error.contains(name), "{error}");
                }
            }
        }
        for name in ["old", "new"] {
            assert_eq!(fs::read_to_string(at(name)).expect("it is there"), "new", "{name}");
        }
        assert!(fs::symlink_metadata(at("to-device")).is_ok_and(|there| there.is_symlink()));
        assert_eq!(
            names(place.path()),
            ["folder", "new", "old", "to-device", "to-file", "to-nothing"],
            "nothing is left"
        );
        write_atomically(Path::new("/dev/null"), b"new").expect("it takes everything");
    }

    #[test]
    fn a_temporary_name_is_made_once_and_no_link_is_followed() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let link = place.path().join("link");
        symlink(place.path().join("victim"), &link).expect("it is ours");
        assert_eq!(write_new(&link, b"x").expect_err("it is there").kind(), ErrorKind::AlreadyExists);
        assert!(!place.path().join("victim").exists());
        assert_ne!(partial(&link), partial(&link));
    }

    #[test]
    fn only_what_a_process_left_that_is_gone_is_removed() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| place.path().join(name);
        let own = partial(&at("a.json"));
        fs::write(&own, "").expect("it is ours");
        // No process has this number: it is above the largest that Linux gives out, 2^22.
        for name in [".a.json.4999999-0.partial", "a.partial", ".b.x-0.partial", "kept"] {
            fs::write(at(name), "").expect("it is ours");
        }
        fs::create_dir(at(".f.4999999-3.partial")).expect("it is ours");
        remove_partials(place.path());
        let own = own.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut left = vec![own, ".b.x-0.partial".into(), "a.partial".into(), "kept".into()];
        left.sort();
        assert_eq!(names(place.path()), left);
    }

    #[test]
    fn reading_has_bounds() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let file = place.path().join("file");
        fs::write(&file, "12345").expect("it is ours");
        assert_eq!(read(&file, 5).expect("it fits"), b"12345");
        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("a pipe can be made");
        for (path, part) in [
            (file.as_path(), "larger than"),
            (Path::new("/dev/zero"), "no regular file"),
            (&pipe, "no regular file"),
            (place.path(), "folder"),
        ] {
            let error = read(path, 4).expect_err("it is refused").to_string();
            assert!(error.contains(part), "{}: {error}", path.display());
        }
    }

    #[test]
    fn folders_and_sizes() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let deep = place.path().join("a/b/c");
        create_folder(&deep).expect("it is ours");
        create_folder(&deep).expect("it is there");
        write_new(&deep.join("file"), &[0; 1000]).expect("it is new");
        rename(&deep.join("file"), &place.path().join("file")).expect("it moves");
        assert!(size(place.path()) >= 1000 && size(&deep.join("file")) == 0);
    }
}
