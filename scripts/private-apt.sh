# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by scripts that download Debian packages of another release or processor: an apt with a state
# directory of its own. It reads this machine's mirrors, and neither reads nor changes its package state.

# Prints the Debian mirrors of this machine, as "main URI" and "security URI".
mirrors()
{
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^[a-z]*-security /security /p; s/^\(bookworm\|trixie\|forky\|sid\) /main /p' | sort -u
}

# sources ARCH RELEASE: prints the lines of sources.list.
sources()
{
	local arch=$1 release=$2 kind uri keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	while read -r kind uri; do
		case $kind in
		main) echo "deb [arch=$arch signed-by=$keyring] $uri $release main" ;;
		security) [ "$release" = sid ] || echo "deb [arch=$arch signed-by=$keyring] $uri $release-security main" ;;
		esac
	done < <(mirrors)
}

# private COMMAND ARGUMENT...: runs an apt command with the state in $apt_state, made by private_init.
private()
{
	local command=$1
	shift
	"$command" -q -o Dir::State="$apt_state/state" -o Dir::State::status="$apt_state/status" \
		-o Dir::Cache="$apt_state/cache" -o Dir::Etc::SourceList="$apt_state/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o APT::Architecture="$apt_arch" -o APT::Architectures::="$apt_arch" \
		-o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

# private_init DIR ARCH RELEASE: makes the state in DIR and gets the package lists. Dies if it cannot.
private_init()
{
	local release=$3

	apt_state=$1
	apt_arch=$2
	sources "$apt_arch" "$release" >"$apt_state/sources.list"
	[ -s "$apt_state/sources.list" ] ||
		die 'apt has no Debian mirror configured, or no package lists (run apt-get update)'
	mkdir -p "$apt_state/state/lists/partial" "$apt_state/cache/archives/partial"
	: >"$apt_state/status"
	private apt-get update >"$apt_state/log" 2>&1 ||
		die "$release: $(grep -m1 '^[EW]:' "$apt_state/log" || echo 'apt-get update failed')"
}
