//! Makes Rust declarations of atto.h and atto_linux.h with the program bindgen, and links with libatto.a.
//! pkg-config must know the library.

use std::{env, process::Command};

fn output(program: &str, words: &[&str]) -> String {
    let done = Command::new(program).args(words).output();
    let done = done.unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    assert!(
        done.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).trim().to_string()
}

fn main() {
    let header = output("pkg-config", &["--variable=includedir", "atto"]) + "/atto_linux.h";
    let declarations = env::var("OUT_DIR").unwrap() + "/atto.rs";
    let mut words = vec!["--output", &declarations, "--no-layout-tests"];
    words.extend([
        "--allowlist-function",
        "atto_.*",
        "--allowlist-type",
        "atto_.*",
    ]);
    words.extend(["--allowlist-var", "ATTO_.*"]);
    // size_t is usize, as Rust needs it for lengths. bindgen 0.61 and later do this by themselves.
    let version = output("bindgen", &["--version"]);
    let minor = version
        .split('.')
        .nth(1)
        .and_then(|text| text.parse::<u32>().ok());
    if version.starts_with("bindgen 0.") && minor < Some(61) {
        words.push("--size_t-is-usize");
    }
    words.push(&header);
    output("bindgen", &words);

    for word in output("pkg-config", &["--libs", "--static", "atto"]).split_whitespace() {
        match (word.get(..2), word.get(2..)) {
            (Some("-L"), Some(path)) => println!("cargo:rustc-link-search=native={path}"),
            (Some("-l"), Some("atto")) => println!("cargo:rustc-link-lib=static=atto"),
            (Some("-l"), Some(name)) => println!("cargo:rustc-link-lib={name}"),
            _ => {}
        }
    }
    println!("cargo:rerun-if-changed={header}");
}
