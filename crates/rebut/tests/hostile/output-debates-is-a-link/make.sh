# The folder in which a challenge keeps its files is a link to the home.
repository
ln -s ../../private debates
also rebut challenge "'We should move to the cloud.'" -m rehearsal
only own-question
