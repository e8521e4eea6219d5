#!/usr/bin/env bash
# Usage: hack/commits.sh [RANGE]
# Checks the messages of commits against the rules in CONTRIBUTING.md: those of a range, such as main..HEAD, or by default all commits
# after the one that added this check.
set -euo pipefail
cd "$(dirname "$0")/.."

# accepted has the commits that break a rule and can no longer be changed: the first has a comma after its first verb.
accepted='^0026514677fc78c387af0f379a07224743ec9ffa$'
subject='^[A-Za-z0-9][A-Za-z0-9 ,./_-]*: ([A-Z][a-z]+)( .*[^. ])?$'
# Words that begin subjects without a verb, and other forms of a verb: Added, Adding and Adds. A verb such as Embed or Focus is excepted.
no_verb='^(A|All|An|And|Another|Any|Both|Each|Every|For|From|How|In|Less|More|New|No|Not|Of|On|One|Only|Our|Some|That|The|These|They|This|Those|To|Two|What|When|Where|Which|Who|Why|With|Without|[A-Z][a-z]*(ed|ing|[^s]s))$'
verb='^(Alias|Bias|Bleed|Breed|Bring|Canvas|Embed|Exceed|Feed|Focus|Heed|Need|Ping|Proceed|Ring|Seed|Shed|Speed|Spring|String|Succeed|Swing|Wed|Weed)$'
trailer='^[A-Z][A-Za-z-]*-(by|Id): '
broken=0

complain() {
	printf 'commit %.12s (%s): %s\n' "$hash" "$head" "$1" >&2
	broken=1
}

range=${1:-}
if [[ -z $range ]]; then
	range=$(git log --diff-filter=A --format=%H -- hack/commits/main.go | tail -n 1)..HEAD
fi
while IFS= read -r -d '' message; do
	hash=${message%%$'\n'*}
	message=${message#*$'\n'}
	head=${message%%$'\n'*}
	[[ ! $hash =~ $accepted ]] || continue
	((${#head} <= 72)) || complain "the subject has ${#head} characters: shorten it to 72 at most"
	word=
	if [[ $head =~ $subject ]]; then
		word=${BASH_REMATCH[1]}
	else
		complain 'the subject is not "area: Do the thing": begin with the package or page, a colon and a capitalized verb, without a period at the end'
	fi
	if [[ ! $word =~ $verb && $word =~ $no_verb ]]; then
		complain "the subject begins with \"$word\": use a verb in the imperative, such as Add, Fix or Remove"
	fi
	body=
	if [[ $message == *$'\n'* ]]; then
		body=${message#*$'\n'}
	fi
	[[ $body != [!$'\n']* ]] || complain "the second line is not empty: put an empty line between subject and body"
	if ! grep -vE "$trailer" <<<"$body" | grep -q '[^[:space:]]'; then
		complain "the body is empty: say why the change is made"
	fi
done < <(git log -z --reverse --no-merges --format='%H%n%B' "$range" --)
if ((broken)); then
	echo "Reword the commits (git rebase -i), or add one that has landed to the accepted ones in $0." >&2
fi
exit "$broken"
