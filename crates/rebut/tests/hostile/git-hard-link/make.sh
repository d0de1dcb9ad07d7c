# A new file in the working tree is another name of a private file: the change holds what is in it.
repository
ln "$HOME/private/diary.md" hard.md
only review hook-stop own-question
