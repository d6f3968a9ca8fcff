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

# The tests of the libraries. Of the workspace, and not of packages: with the same features everywhere, so that nothing is built twice.
tests_of_libraries() {
    local file targets=(--test oracle --test interpreter)
    for file in {generator,crates/*}/tests/*.rs; do
        [[ ! -f $file ]] || targets+=(--test "$(basename "$file" .rs)")
    done
    cargo test --no-fail-fast --workspace --lib --bins "${targets[@]}"
}

tests_in_documentation() {
    cargo test --no-fail-fast --workspace --doc
}

# The program's own tests, on the drivers of this machine.
tests_of_program() {
    cargo test --no-fail-fast --workspace --test command --test no_optimiser
}

# The same as on a machine that has no driver: an empty cache lists none, and those of the system are hidden. What is skipped names the devices that it
# uses, none of them a driver's, or looks at no device: it cannot know the difference.
tests_without_drivers() {
    local empty=$1
    TANGLE_CACHE=$empty VK_DRIVER_FILES=$empty/none __EGL_VENDOR_LIBRARY_FILENAMES=$empty/none \
        cargo test --no-fail-fast --workspace --test command --test no_optimiser -- \
        --skip compilers:: --skip coverage_of_cases:: --skip crates:: --skip farm:: --skip format_1:: --skip minimize:: \
        --skip module_circles:: --skip replay:: --skip rule_book:: --skip torture:: \
        --skip bugs::a_bug_lives --skip bugs::bugs_of_compilers --skip bugs::the_commit_is_found \
        --skip campaign::a_doubtful_mismatch --skip campaign::crashes_and_hangs --skip campaign::deadlines_hold \
        --skip campaign::inputs_of_a_program --skip campaign::workers_of_one_device \
        --skip cli::a_campaign_ends_at_the_limit --skip cli::a_compiler --skip cli::a_finding_that_cannot_be_saved \
        --skip cli::the_stage_to_blame --skip exports::the_c_program_catches_planted_faults \
        --skip judge_devices::planted_faults --skip stages_on_drivers::random_shaders_of_the_stages_on_reference_devices \
        --skip vectors_on_drivers::faulty_devices --skip vectors_on_drivers::the_corpus_on_correct_reference_devices
}

# tests_beside EMPTY: all that run while the program's run on the drivers.
tests_beside() {
    local status=0
    tests_of_libraries || status=$?
    tests_in_documentation || status=$?
    say ""
    say "== tests of the program, without any driver"
    tests_without_drivers "$1" || status=$?
    return "$status"
}

# All the tests in two rows, since many wait for a process or have one thread: neither row keeps two processors busy.
run_all_tests() {
    local log other_log empty other status=0
    log=$(mktemp) other_log=$(mktemp) empty=$(mktemp -d)
    scratch+=("$log" "$other_log" "$empty")
    check "building the tests" cargo test --workspace --lib --bins --tests --no-run
    tests_beside "$empty" >"$other_log" 2>&1 &
    other=$!
    say ""
    say "== tests of the program"
    tests_of_program 2>&1 | tee "$log" || status=$?
    count_tests "$log" "$status"
    say ""
    say "== tests of the libraries"
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
    if [[ -f bench/mutants/Cargo.toml ]]; then
        check "formatting of bench/mutants/" cargo fmt --manifest-path bench/mutants/Cargo.toml --check
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
