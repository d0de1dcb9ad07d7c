# The folder that a user has results written into is a planted link to the home.
repository
for name in out feature written; do
    ln -s ../../private "$name"
done
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small -o out/diary.md
also rebut decide "'Offline?'" -O A=Yes -O B=No -m mine:small --feature-dir feature
also rebut review app.sh -m mine:small --write written
also rebut export last -o out/new.md
only own-question
