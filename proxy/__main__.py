"""`python -m proxy` is `transom`."""

from proxy.cli import main

if __name__ == "__main__":
    main()
