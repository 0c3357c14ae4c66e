//! Where does a chart come from? Folders, archives and Helm repositories, each verified.
