//! Access control (MGP §5): which agent may use which server and tool.
