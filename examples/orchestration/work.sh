# Stands for real work: notes when it begins and when it ends.
echo "begin $1" >> trace.txt
sleep "${WORK_SECONDS:-0.1}"
echo "end $1" >> trace.txt
