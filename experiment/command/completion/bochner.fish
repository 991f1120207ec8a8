# Completion of bochner's command line for fish. The program itself says what may follow; the dot
# behind the word at hand keeps an empty one from getting lost.
function __bochner_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    for line in ($before[1] complete-words -- $before[2..-1] "$word." 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$word"
        else
            echo $line
        end
    end
end
complete -c bochner -f -a '(__bochner_complete)'
