# Folders of debates have numbers after which none comes, or are files.
repository
mkdir debates
for number in 4294967295 18446744073709551615 999999999999999999999999 999; do
    mkdir "debates/$number-last"
done
: >debates/1000-file
may_write debates
also rebut challenge "'We should move to the cloud.'" -m rehearsal
only own-question
