# `./x test`: formatting, lints and tests, quick ones first, and a count at the end.
# shellcheck shell=bash disable=SC2154

passed=0 failed=0 skipped=0

# check TITLE COMMAND…: one thing that passes or fails as a whole.
check() {
    say ""
    say "== $1"
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        say "failed: $*"
    fi
}

# count_tests LOG STATUS: adds up what the test programs reported. One that died without a report counts as one failure.
count_tests() {
    local log=$1 status=$2 p f s before=$failed
    while read -r p f s; do
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    done < <(sed -nE 's/^test result: .* ([0-9]+) passed; ([0-9]+) failed; ([0-9]+) ignored;.*/\1 \2 \3/p' "$log")
    if ((status != 0 && failed == before)); then
        failed=$((failed + 1))
    fi
}

# The program's own tests, as on a machine that has no driver: an empty cache lists none, and those of the system are hidden. The
# tests of `tangle-runner` are left out: what they test is a driver, so that without one they rightly fail. Of the workspace, and not
# of the package: with the same features as before, so that nothing is built again. `coverage`, `farm` and `torture` take long and name
# the devices that they use, reference devices all.
tests_without_drivers() {
    local empty=$1 test programs=()
    for test in tests/*.rs; do
        case $test in
            */coverage.rs | */farm.rs | */torture.rs) ;;
            *) programs+=(--test "$(basename "$test" .rs)") ;;
        esac
    done
    TANGLE_CACHE=$empty VK_DRIVER_FILES=$empty/none __EGL_VENDOR_LIBRARY_FILENAMES=$empty/none \
        cargo test --no-fail-fast --workspace "${programs[@]}"
}

# All the tests, and beside them those of the program without any driver: many tests wait for one process, so that neither run keeps two
# processors busy.
run_all_tests() {
    local log other_log empty other status=0
    log=$(mktemp) other_log=$(mktemp) empty=$(mktemp -d)
    scratch+=("$log" "$other_log" "$empty")
    check "building the tests" cargo test --workspace --no-run
    say ""
    say "== tests"
    tests_without_drivers "$empty" >"$other_log" 2>&1 &
    other=$!
    cargo test --no-fail-fast --workspace 2>&1 | tee "$log" || status=$?
    count_tests "$log" "$status"
    say ""
    say "== tests of the program, without any driver"
    status=0
    wait "$other" || status=$?
    cat "$other_log"
    count_tests "$other_log" "$status"
}

# Licences, duplicates and sources always (without cargo-deny, set-up's own tests have looked at them already); advisories where their
# database has been fetched.
check_dependencies() {
    command -v cargo-deny >/dev/null || return 0
    check "dependencies" cargo deny --offline check bans licenses sources
    if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-db*/*" >/dev/null; then
        check "advisories" cargo deny --offline check --disable-fetch advisories
    fi
}

run_tests() {
    cd "$root" || exit
    check "set-up's own tests" python3 -m unittest discover -q -s setup -p '*_test.py'
    check "formatting" cargo fmt --all --check
    if [[ -f fuzz/Cargo.toml ]]; then
        check "formatting of fuzz/" cargo fmt --manifest-path fuzz/Cargo.toml --check
    fi
    check "lints" cargo clippy --workspace --all-targets -- -D warnings
    if [[ -f fuzz/Cargo.toml ]]; then
        # The same target directory: what both workspaces depend on is built once.
        check "lints of fuzz/" cargo clippy --manifest-path fuzz/Cargo.toml --all-targets \
            --target-dir "${CARGO_TARGET_DIR:-$root/target}" -- -D warnings
    fi
    check_dependencies
    run_all_tests
    say ""
    say "$passed passed, $failed failed, $skipped skipped"
    ((failed == 0))
}
