@rem kubectl runs this program to complete the words after "kubectl a2a". It needs kubectl-a2a on the PATH.
@kubectl-a2a __complete %*
